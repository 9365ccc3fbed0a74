import type { StatsSeries } from '../../../engine/figures/series.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { Performance } from '../../charts/performance.js'
import { RetryWave } from '../../charts/retry-wave.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { age, count, percent, plural, rate } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { range, rangeText } from '../../data/range.js'
import { minutesOf, sumOf, useSeries } from '../../data/series.js'
import type { ScreenProps } from '../../lazy.js'
import { Answer, Detail } from '../../parts/empty.js'
import { chosenIn, UrlChoice } from '../../parts/form/field.js'
import { Icon } from '../../parts/icon.js'
import { PageActions } from '../../parts/layer/actions.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { Tile, Tiles } from '../../parts/tile.js'
import { go, href } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { ForecastPanel } from '../forecast/forecast.js'
import { OutcomesPanel } from '../overview/overview-outcomes.js'
import { queueActions } from './queue-actions.js'
import { QueueErrors, QueueWorkers } from './queue-around.js'
import { QueueBadge } from './queue-columns.js'
import { NoLimits, QueueLimitsPanel } from './queue-limits.js'
import { QueuePartitions } from './queue-partitions.js'
import { QueuePolicy } from './queue-policy.js'

/** One queue: figures, limits, upcoming runs, errors, workers and policy. */
export default function Queue({ params }: ScreenProps) {
  const name = params['name']!
  useTitle(name)
  const found = useQuery(`queue ${name}`, signal => api.queues.get(name, signal), {
    topics: ['queues', 'workers'],
    everyMs: 5_000,
  })
  const series = useSeries({ queue: name, percentiles: true })
  const { problem, refetch } = found
  const stale = problem !== undefined
  return (
    <Detail
      query={found}
      icon="queues"
      missing={`Queue ${name} not found`}
      why={problem?.detail}
      list={{ href: href('/queues'), text: 'All queues' }}
    >
      {data => (
        <>
          <PageHead
            up={{ href: href('/queues'), text: 'Queues' }}
            title={
              <>
                {name}
                <QueueBadge queue={data} />
              </>
            }
            actions={
              <PageActions label={`Actions for ${name}`} actions={queueActions(data, refetch, () => go('/queues'))} />
            }
          />
          <div class="stack">
            {data.paused && <PausedNotice queue={data} />}
            <Numbers queue={data} series={series.data} stale={stale} />
            {data.limits && (
              <>
                <QueueLimitsPanel queue={data} limits={data.limits} after={refetch} />
                <QueuePartitions name={name} limits={data.limits} />
              </>
            )}
            <div class="columns main-aside">
              <div class="stack">
                <Answer query={series} lines={9}>
                  {shown => (
                    <OutcomesPanel series={shown} filter={{ queue: name }} stale={series.problem !== undefined} />
                  )}
                </Answer>
                <ForecastPanel of={{ queue: name }} />
                <Wave name={name} />
                {series.data && <Performance series={series.data} stale={series.problem !== undefined} />}
              </div>
              <div class="stack">
                <QueuePolicy queue={data} after={refetch} />
                {!data.limits && <NoLimits queue={data} after={refetch} />}
                <QueueErrors name={name} />
                <QueueWorkers queue={data} />
              </div>
            </div>
          </div>
        </>
      )}
    </Detail>
  )
}

function PausedNotice({ queue }: { readonly queue: QueueReport }) {
  const { blocked } = queue.counts
  return (
    <div class="notice retry">
      <Icon name="pause" />
      <span class="grow">
        Paused: no jobs start. {blocked.value > 0 && `${plural(blocked, 'job is blocked', 'jobs are blocked')}.`}
      </span>
    </div>
  )
}

interface NumbersProps {
  readonly queue: QueueReport
  /** The statistics of the time range; undefined until they are loaded. */
  readonly series: StatsSeries | undefined
  readonly stale: boolean
}

function Numbers({ queue, series, stale }: NumbersProps) {
  const { name, counts, running, oldestDueAt, workers } = queue
  const to = (state: string): string => href('/jobs', { queue: name, state })
  const waits = oldestDueAt === undefined ? undefined : now.value - Date.parse(oldestDueAt)
  const sum = (what: Parameters<typeof sumOf>[1]): number => (series ? sumOf(series.points, what) : 0)
  const within = series ? `in ${rangeText(range.value)}` : ''
  const [runs, failed] = [sum('runs'), sum('failed')]
  return (
    <Tiles stale={stale}>
      <Tile
        label="Queued"
        value={count(counts.queued)}
        note={waits === undefined ? 'due now' : `oldest ${age(waits)}`}
        href={to('queued')}
      />
      <Tile
        label="Running"
        value={count(running)}
        note={workers === 0 ? 'no workers' : plural(workers, 'live worker')}
        href={to('running')}
      />
      <Tile
        label="Retrying"
        value={count(counts.retrying)}
        hue={counts.retrying.value > 0 ? 'retry' : undefined}
        note={series && `${plural(sum('retries'), 'retry', 'retries')} ${within}`}
        href={to('retrying')}
      />
      <Tile
        label="Blocked"
        value={count(counts.blocked)}
        hue={counts.blocked.value > 0 ? 'retry' : undefined}
        note={queue.paused ? 'the queue is paused' : queue.limits ? 'by limit or circuit' : 'by their dependency'}
        href={to('blocked')}
        tip="Jobs whose time has come, but the queue is paused, or a limit or their dependency holds them back"
      />
      <Tile label="Scheduled" value={count(counts.scheduled)} note="for later" href={to('scheduled')} />
      <Tile
        label="Dead"
        value={count(counts.dead)}
        hue={counts.dead.value > 0 ? 'dead' : undefined}
        note={series && `${count(sum('dead'))} ${within}`}
        href={href('/dead', { queue: name })}
      />
      <Tile
        label="Throughput"
        value={series ? rate(runs / minutesOf(series)) : '–'}
        note={runs === 0 ? `runs ${within}` : `${percent(failed / runs)} failed ${within}`}
        tip="Runs that ended in the time range, by the time that has passed of it"
      />
    </Tiles>
  )
}

const WINDOWS = [
  { value: '15m', text: '15m' },
  { value: '1h', text: '1h' },
  { value: '24h', text: '24h' },
] as const

function Wave({ name }: { readonly name: string }) {
  const ahead = chosenIn('ahead', WINDOWS).value
  const wave = useQuery(`wave ${name} ${ahead}`, signal => api.queues.retryWave(name, ahead, signal), {
    topics: ['queues'],
    everyMs: 10_000,
  })
  return (
    <Panel stale={wave.problem !== undefined}>
      <Answer query={wave} lines={6}>
        {data => <RetryWave wave={data} controls={<UrlChoice label="Time range" name="ahead" options={WINDOWS} />} />}
      </Answer>
    </Panel>
  )
}
