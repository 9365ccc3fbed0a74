import type { NameReport } from '../../../engine/names/view.js'
import { Performance } from '../../charts/performance.js'
import * as api from '../../data/api.js'
import { count, duration, percent, plural, rate } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { apiRange, between, range, rangeText } from '../../data/range.js'
import type { ScreenProps } from '../../lazy.js'
import { Button } from '../../parts/button.js'
import { Detail, Incomplete } from '../../parts/empty.js'
import { PageHead } from '../../parts/panel.js'
import { Tile, Tiles } from '../../parts/tile.js'
import { href } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { OutcomesPanel } from '../overview/overview-outcomes.js'
import { WorkerList } from '../system/worker-list.js'
import { NameErrors, NameQueues, TopJobs } from './name-around.js'

/** One job name in the time range: outcomes, percentiles, errors, slowest runs and most retried jobs. */
export default function Name({ params }: ScreenProps) {
  const name = params['name']!
  useTitle(name)
  const asked = apiRange(range.value)
  const found = useQuery(`name ${name} ${JSON.stringify(asked)}`, signal => api.names.get(name, asked, signal), {
    topics: ['jobs'],
    everyMs: 5_000,
  })
  const { problem } = found
  const stale = problem !== undefined
  return (
    <Detail
      query={found}
      icon="names"
      missing={`Job name ${name} not found`}
      why={problem?.detail}
      list={{ href: href('/names'), text: 'All job names' }}
    >
      {report => (
        <>
          <PageHead
            up={{ href: href('/names'), text: 'Job names' }}
            title={name}
            actions={<Button text="Show jobs" icon="jobs" href={href('/jobs', { name })} />}
          />
          <div class="stack">
            {!report.complete && <Incomplete />}
            <Numbers report={report} stale={stale} />
            <div class="columns main-aside">
              <div class="stack">
                <OutcomesPanel series={report} filter={{ name }} stale={stale} />
                <Performance series={report} stale={stale} />
              </div>
              <div class="stack">
                <NameQueues report={report} />
                <NameErrors report={report} />
                <TopJobs
                  title="Slowest runs"
                  none="No run has ended in this time range."
                  jobs={report.slowest.map(job => ({ ...job, value: duration(job.runMs) }))}
                />
                <TopJobs
                  title="Most retried jobs"
                  none="No job was retried in this time range."
                  jobs={report.mostRetried.map(job => ({ ...job, value: count(job.attempts) }))}
                />
                <WorkerList workers={report.workers} none="No live worker has a handler for this job." />
              </div>
            </div>
          </div>
        </>
      )}
    </Detail>
  )
}

function Numbers({ report, stale }: { readonly report: NameReport; readonly stale: boolean }) {
  const { name, from, to, started, perMinute, failed, failureShare, dead, retries, runMs, waitMs } = report
  const within = between(Date.parse(from), Date.parse(to))
  const spread = (of: NameReport['runMs']): string =>
    of ? `p50 ${duration(of.p50)}, p99 ${duration(of.p99)}` : 'no percentiles'
  return (
    <Tiles stale={stale}>
      <Tile label="Runs" value={count(started)} note={`${rate(perMinute)} over ${rangeText(range.value)}`} />
      <Tile
        label="Failed runs"
        value={percent(failureShare)}
        hue={failed > 0 ? 'retry' : undefined}
        note={plural(failed, 'failed run')}
        href={href('/jobs', { name, by: 'failed', ...within })}
      />
      <Tile label="Retries" value={count(retries)} note="runs after the first attempt" />
      <Tile
        label="Dead"
        value={count(dead)}
        hue={dead > 0 ? 'dead' : undefined}
        note={plural(dead, 'job died', 'jobs died')}
        href={href('/jobs', { name, state: 'dead', by: 'finished', ...within })}
      />
      <Tile label="Run time p95" value={duration(runMs?.p95)} note={spread(runMs)} tip="How long runs took" />
      <Tile
        label="Wait p95"
        value={duration(waitMs?.p95)}
        note={spread(waitMs)}
        tip="From the time at which a job was due to the start of its run"
      />
    </Tiles>
  )
}
