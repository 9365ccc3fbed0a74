import { retryRateText } from '../../../core/values/number.js'
import type { FleetStats } from '../../../engine/figures/statistics.js'
import * as api from '../../data/api.js'
import { age, count, percent, plural, ratio } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { Answer } from '../../parts/empty.js'
import { PageHead } from '../../parts/panel.js'
import { Tile, Tiles } from '../../parts/tile.js'
import { href } from '../../shell/router.js'
import { ForecastPanel } from '../forecast/forecast.js'
import { Attention } from './overview-attention.js'
import { FirstSteps } from './overview-first-steps.js'
import { Outcomes } from './overview-outcomes.js'
import { BusyQueues } from './overview-queues.js'

/** Key figures, alerts, outcomes and queues. */
export default function Overview() {
  const stats = useQuery('stats', api.stats.get, { topics: ['jobs', 'queues', 'dead', 'workers'], everyMs: 5_000 })
  return (
    <>
      <PageHead title="Overview" sub={stats.data && <HealthLine stats={stats.data} />} />
      <Answer query={stats}>
        {data =>
          isNew(data) ? (
            <FirstSteps />
          ) : (
            <div class="stack">
              <Numbers stats={data} stale={stats.isStale && stats.problem !== undefined} />
              <div class="columns main-aside urgent">
                <div class="stack">
                  <Outcomes />
                  {data.jobs.retrying.value + data.jobs.blocked.value > 0 && <ForecastPanel />}
                  <BusyQueues />
                </div>
                <Attention stats={data} />
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
      : `${plural(workers.alive, 'worker')}, ${count(workers.running)} of ${plural(workers.concurrency, 'slot')} busy`,
    ...(oldestDueAgeMs === undefined ? [] : [`the oldest due job has waited ${age(oldestDueAgeMs)}`]),
    ...(jobs.blocked.value === 0 ? [] : [`${plural(jobs.blocked, 'job is blocked', 'jobs are blocked')}`]),
    ...(oldestDueAgeMs === undefined && jobs.blocked.value === 0 ? ['no due jobs'] : []),
    retryRate === undefined
      ? 'no first attempts in the last 5 minutes'
      : `${retryRateText(retryRate)} in the last 5 minutes`,
  ]
  return <>{words.join(' · ')}</>
}

/** With fewer jobs, a share says little. */
const SHARE_FROM = 1

function Numbers({ stats, stale }: { readonly stats: FleetStats; readonly stale: boolean }) {
  const { jobs, deadLetters, lastHour, oldestDueAgeMs, workers } = stats
  const ended = lastHour.succeeded + lastHour.dead
  const share = ended < SHARE_FROM ? undefined : lastHour.succeeded / ended
  const waits = oldestDueAgeMs === undefined ? 'due now' : `oldest ${age(oldestDueAgeMs)}`
  return (
    <Tiles stale={stale}>
      <Tile label="Queued" value={count(jobs.queued)} note={waits} href={href('/jobs', { state: 'queued' })} />
      <Tile
        label="Running"
        value={count(jobs.running)}
        note={
          workers.concurrency === 0
            ? 'no workers'
            : `${count(workers.running)} of ${plural(workers.concurrency, 'slot')} busy`
        }
        href={href('/jobs', { state: 'running' })}
      />
      <Tile
        label="Retrying"
        value={count(jobs.retrying)}
        hue={jobs.retrying.value > 0 ? 'retry' : undefined}
        note={`${plural(lastHour.retries, 'retry', 'retries')} in 1h`}
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
        note={`${count(lastHour.dead)} in 1h`}
        href={href('/dead')}
        tip="Dead jobs that are not acknowledged or discarded"
      />
      <Tile
        label="Succeeded"
        value={percent(share)}
        note={`${count(lastHour.succeeded)} in 1h`}
        href={href('/jobs', { state: 'succeeded' })}
        tip="Share of the jobs that ended in the last hour"
      />
      <Tile
        label="Runs per job"
        value={ended < SHARE_FROM ? '–' : ratio(lastHour.started / ended)}
        note="1.00: no retries"
        tip="Runs per ended job in the last hour: the extra load of failures"
      />
    </Tiles>
  )
}
