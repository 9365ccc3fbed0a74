import type { Policy } from '../policy/policy.js'
import { toMs } from '../values/duration.js'
import { anyText, type Infer, integer, oneOf } from '../values/schema.js'
import { view } from '../values/shape.js'
import { attemptLabel } from './job.js'
import { type OutlookJob, windowsOf } from './outlook.js'

/** A run that would follow if every run before it failed. Epoch milliseconds; the duration of runs is not counted. */
export const ghost = view({ attempt: integer(), label: anyText, earliest: integer(), latest: integer() })
export type Ghost = Infer<typeof ghost>

/** When a job would end if every run from now on failed, and the reason. */
export const demise = view({
  earliest: integer(),
  latest: integer(),
  by: oneOf(['exhausted', 'deadline', 'maxElapsed']),
})
export type Demise = Infer<typeof demise>

export interface Projection {
  readonly ghosts: readonly Ghost[]
  readonly dies?: Demise
}

/** A policy may have a thousand retries; a chart shows at most this many. */
const GHOSTS_MAX = 100

/** The future runs of a live job until its retries, or its time, are used up. */
export function projectionOf(job: OutlookJob, policy: Policy, now: number): Projection {
  if (job.state !== 'waiting' && job.state !== 'running') return { ghosts: [] }
  const isRunning = job.state === 'running'
  const startAt = isRunning ? now : Math.max(now, job.runAt)
  const attempt = isRunning ? job.attempt : job.attempt + 1
  const end = endOf(job, policy, startAt)
  const ghosts: Ghost[] = []
  let [earliest, latest] = [startAt, startAt]
  if (!isRunning) {
    if (startAt > end.at) return { ghosts, dies: { earliest: end.at, latest: end.at, by: end.by } }
    ghosts.push({ attempt, label: attemptLabel(attempt), earliest, latest })
  }
  const windows = job.delivery === 'at-most-once' ? [] : windowsOf(policy, attempt, job.backoffMs)
  for (const [index, { lo, hi }] of windows.entries()) {
    if (earliest + lo > end.at) return { ghosts, dies: { earliest: dieBy(end, earliest), latest: end.at, by: end.by } }
    earliest += lo
    latest = Math.min(latest + hi, end.at)
    const next = attempt + index + 1
    if (ghosts.length < GHOSTS_MAX) ghosts.push({ attempt: next, label: attemptLabel(next), earliest, latest })
  }
  return { ghosts, dies: { earliest, latest, by: latest === end.at ? end.by : 'exhausted' } }
}

interface End {
  readonly at: number
  readonly by: 'deadline' | 'maxElapsed'
}

function endOf(job: OutlookJob, policy: Policy, startAt: number): End {
  const deadline = job.deadline ?? Number.POSITIVE_INFINITY
  const maxElapsed =
    policy.maxElapsed === undefined
      ? Number.POSITIVE_INFINITY
      : (job.firstStartedAt ?? startAt) + toMs(policy.maxElapsed, 'maxElapsed')
  return deadline <= maxElapsed ? { at: deadline, by: 'deadline' } : { at: maxElapsed, by: 'maxElapsed' }
}

/** A deadline ends a waiting job as it passes; `maxElapsed` takes effect when a run has failed. */
const dieBy = ({ at, by }: End, failedAt: number): number => (by === 'deadline' ? at : failedAt)
