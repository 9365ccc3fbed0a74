import type { Job } from '../../core/job/job.js'
import { demise, ghost, projectionOf } from '../../core/job/projection.js'
import { timeline, timelineOf } from '../../core/job/timeline.js'
import { attemptView, jobView, viewAttempt, viewJob } from '../../core/job/view.js'
import { pageLimit } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, anyText, type Infer, integer, named, number, read } from '../../core/values/schema.js'
import { listOf, pair, view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import type { AttemptRecord } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { notFound } from './edit.js'
import { blocksOf } from './surroundings.js'

export interface TimelineQuery {
  /** How many of the newest runs. Default 100, at most 200. */
  readonly limit?: number
}

/** The wait after a run, as it was decided. Epoch milliseconds. */
export const plannedWait = view(
  { delayMs: number(), runAt: about(integer(), 'Epoch milliseconds.') },
  {
    windowMs: about(pair(number(), 'two numbers'), 'The shortest and the longest wait that the jitter allowed.'),
    source: anyText,
  },
)

export const timelineAttempt = named(
  'TimelineAttempt',
  view(attemptView.required, { ...attemptView.optional, plan: plannedWait }),
)
export type TimelineAttempt = Infer<typeof timelineAttempt>

/** The data of a job's timeline. Times are epoch milliseconds, except within `job` and `attempts`. */
export const jobTimeline = named(
  'Timeline',
  view(
    {
      job: jobView,
      ...timeline.required,
      attempts: about(listOf(timelineAttempt), 'Oldest first.'),
      ghosts: about(listOf(ghost), 'The further runs if every one fails, the next one included; the first hundred.'),
    },
    {
      deadline: about(integer(), 'Epoch milliseconds.'),
      dies: about(demise, 'When the job would die in that case; absent if it has ended.'),
      nextOccurrenceAt: about(
        timestamp,
        'For the id of a schedule: its next occurrence. `job` is the current or last one.',
      ),
    },
  ),
)
export type JobTimeline = Infer<typeof jobTimeline>

const LIMIT_DEFAULT = 100

export async function timelineOfJob(env: Environment, id: string, query: TimelineQuery): Promise<JobTimeline> {
  const job = await (await env.connection.store()).get(id)
  if (!job) throw notFound(id)
  return timelineIn(env, job, query)
}

export async function timelineIn(env: Environment, job: Job, query: TimelineQuery): Promise<JobTimeline> {
  const { limit = LIMIT_DEFAULT } = query
  read(pageLimit, limit, 'jobs.timeline: limit')
  const store = await env.connection.store()
  const [policy, history, { now }] = await Promise.all([
    env.policies.of(job),
    store.history(job.id, { limit }),
    store.info(),
  ])
  const view = viewJob(job, policy, now, (await blocksOf(store, [job], now))(job))
  const records = [...history.data].reverse()
  return present({
    job: view,
    ...timelineOf(view, records.map(viewAttempt), now),
    attempts: records.map(viewPlanned),
    deadline: job.deadline,
    ...projectionOf(job, policy, now),
  })
}

function viewPlanned(record: AttemptRecord): TimelineAttempt {
  const { delayMs, nextRunAt, decision } = record
  const view = viewAttempt(record)
  if (delayMs === undefined || nextRunAt === undefined) return view
  const { windowMs, source } = decision
  return {
    ...view,
    plan: present({ delayMs, runAt: nextRunAt, windowMs, source }),
  }
}
