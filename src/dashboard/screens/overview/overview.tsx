import { retryRateText } from '../../../core/values/number.js'
import type { StatsSeries } from '../../../engine/figures/series.js'
import type { FleetStats } from '../../../engine/figures/statistics.js'
import * as api from '../../data/api.js'
import { age, count, percent, plural, rate, ratio } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { range, rangeParameters, rangeText } from '../../data/range.js'
import { minutesOf, sumOf, useSeries } from '../../data/series.js'
import { Answer } from '../../parts/empty.js'
import { PageHead } from '../../parts/panel.js'
import { Tile, Tiles } from '../../parts/tile.js'
import { href } from '../../shell/router.js'
import { ForecastPanel } from '../forecast/forecast.js'
import { Attention } from './overview-attention.js'
import { FirstSteps } from './overview-first-steps.js'
import { OutcomesPanel } from './overview-outcomes.js'
import { BusyQueues, useBusiest } from './overview-queues.js'

/** Key figures, alerts, outcomes and queues. */
export default function Overview() {
  const stats = useQuery('stats', api.stats.get, { topics: ['jobs', 'queues', 'dead', 'workers'], everyMs: 5_000 })
  const series = useSeries({})
  const queues = useBusiest()
  return (
    <>
      <PageHead title="Overview" sub={stats.data && <HealthLine stats={stats.data} />} />
      <Answer query={stats}>
        {data =>
          isNew(data) ? (
            <FirstSteps />
          ) : (
            <div class="stack">
              <Numbers stats={data} series={series.data} stale={stats.isStale && stats.problem !== undefined} />
              <div class="columns main-aside urgent">
                <div class="stack">
                  <Answer query={series} lines={9}>
                    {found => <OutcomesPanel series={found} stale={series.problem !== undefined} />}
                  </Answer>
                  {data.jobs.retrying.value + data.jobs.blocked.value > 0 && <ForecastPanel />}
                  <BusyQueues queues={queues} />
                </div>
                <Attention stats={data} queues={queues} />
              </div>
            </div>
          )
        }
      </Answer>
    </>
  )
}

/** No job has ever been created. */
function isNew({ jobs, lastHour }: FleetStats): boolean {
  return Object.values(jobs).every(({ value }) => value === 0) && lastHour.enqueued === 0
}

function HealthLine({ stats: { jobs, workers, oldestDueAgeMs, retryRate } }: { readonly stats: FleetStats }) {
  const words = [
    workers.alive === 0
      ? 'No workers alive'
      : `${plural(workers.alive, 'worker')} with ${plural(workers.concurrency, 'slot')}`,
    ...(oldestDueAgeMs === undefined ? [] : [`the oldest due job has waited ${age(oldestDueAgeMs)}`]),
    ...(jobs.blocked.value === 0 ? [] : [`${plural(jobs.blocked, 'job is blocked', 'jobs are blocked')}`]),
    ...(oldestDueAgeMs === undefined && jobs.blocked.value === 0 ? ['no due jobs'] : []),
    retryRate === undefined
      ? 'no first attempts in the last 5 minutes'
      : `${retryRateText(retryRate)} in the last 5 minutes`,
  ]
  return <>{words.join(' · ')}</>
}

interface NumbersProps {
  readonly stats: FleetStats
  /** The statistics of the time range; undefined until they are loaded. */
  readonly series: StatsSeries | undefined
  readonly stale: boolean
}

function Numbers({ stats, series, stale }: NumbersProps) {
  const { jobs, runningDeliveries, deadLetters, oldestDueAgeMs, workers } = stats
  const sum = (...what: Parameters<typeof sumOf>[1][]): number => (series ? sumOf(series.points, ...what) : 0)
  const [succeeded, dead, runs] = [sum('firstTry', 'retried'), sum('dead'), sum('runs')]
  const ended = succeeded + dead
  const within = series ? `in ${rangeText(range.value)}` : ''
  const waits = oldestDueAgeMs === undefined ? 'due now' : `oldest ${age(oldestDueAgeMs)}`
  return (
    <Tiles stale={stale}>
      <Tile label="Queued" value={count(jobs.queued)} note={waits} href={href('/jobs', { state: 'queued' })} />
      <Tile
        label="Running"
        value={count({ ...jobs.running, value: Math.max(0, jobs.running.value - runningDeliveries.value) })}
        note={[
          workers.concurrency === 0 ? 'no workers' : plural(workers.concurrency, 'slot'),
          ...(runningDeliveries.value === 0 ? [] : [plural(runningDeliveries, 'delivery', 'deliveries')]),
        ].join(' · ')}
        href={href('/jobs', { state: 'running', internal: 'false' })}
        tip="Webhook deliveries are counted apart, because they need no slot of a worker"
      />
      <Tile
        label="Retrying"
        value={count(jobs.retrying)}
        hue={jobs.retrying.value > 0 ? 'retry' : undefined}
        note={series && `${plural(sum('retries'), 'retry', 'retries')} ${within}`}
        href={href('/jobs', { state: 'retrying' })}
      />
      <Tile
        label="Blocked"
        value={count(jobs.blocked)}
        hue={jobs.blocked.value > 0 ? 'retry' : undefined}
        note="held back"
        href={href('/jobs', { state: 'blocked' })}
        tip="Jobs whose time has come, but their queue is paused, or their dependency holds them back"
      />
      <Tile
        label="Dead letters"
        value={count(deadLetters)}
        hue={deadLetters.value > 0 ? 'dead' : undefined}
        note={series && `${count(dead)} ${within}`}
        href={href('/dead')}
        tip="Dead jobs that are not acknowledged or discarded"
      />
      <Tile
        label="Throughput"
        value={series ? rate(runs / minutesOf(series)) : '–'}
        note={`runs ${within}`}
        tip="Runs that ended in the time range, by the time that has passed of it"
      />
      <Tile
        label="Succeeded"
        value={percent(ended === 0 ? undefined : succeeded / ended)}
        note={series && `${count(succeeded)} ${within}`}
        href={href('/jobs', { state: 'succeeded', by: 'finished', ...rangeParameters() })}
        tip="Share of the jobs that succeeded or died in the time range"
      />
      <Tile
        label="Runs per job"
        value={ended === 0 ? '–' : ratio(runs / ended)}
        note="1.00: no retries"
        tip="Runs per ended job in the time range: the extra load of failures"
      />
    </Tiles>
  )
}
