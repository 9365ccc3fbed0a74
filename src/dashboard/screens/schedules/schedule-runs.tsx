import type { JobView } from '../../../core/job/view.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { RunStrip, type StripRun } from '../../charts/run-strip.js'
import * as api from '../../data/api.js'
import { clockText } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { StateMark } from '../../parts/state.js'
import { Time } from '../../parts/time.js'
import { pageOf } from '../../shell/router.js'
import './schedule.css'

export const STRIP_MAX = 30

/** The last jobs of a schedule as bars, and the state of the newest. */
export function LastRuns({ schedule: { id, lastJobId } }: { readonly schedule: ScheduleView }) {
  const jobs = useQuery(
    `runs of ${id} ${lastJobId ?? ''}`,
    signal => api.jobs.list({ scheduleId: id, limit: STRIP_MAX }, signal),
    { everyMs: 15_000 },
  )
  const newest = jobs.data?.data[0]
  return (
    <span class="schedule-last">
      {newest && (
        <>
          <RunStrip label={`Last runs of ${id}`} runs={stripOf(jobs.data!.data)} max={jobs.data!.data.length} />
          <a class="row tight" href={pageOf('jobs', newest.id)}>
            <StateMark state={newest.phase} reason={newest.reason} />
            <span class="muted">
              <Time at={newest.finishedAt ?? newest.runAt} />
            </span>
          </a>
        </>
      )}
      {jobs.data && !newest && <span class="muted">none yet</span>}
    </span>
  )
}

/** Jobs, newest first, as bars, oldest first. */
export function stripOf(jobs: readonly JobView[]): readonly StripRun[] {
  return [...jobs].reverse().map(({ id, phase, startedAt, finishedAt, runAt }) => ({
    id,
    status: phase,
    at: clockText(Date.parse(finishedAt ?? startedAt ?? runAt), 'local'),
    durationMs:
      startedAt !== undefined && finishedAt !== undefined ? Date.parse(finishedAt) - Date.parse(startedAt) : undefined,
    href: pageOf('jobs', id),
  }))
}
