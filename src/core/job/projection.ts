import { delayWindow } from '../policy/backoff.js'
import type { DelayWindow } from '../policy/jitter.js'
import type { Policy } from '../policy/policy.js'
import { toMs } from '../values/duration.js'
import { present } from '../values/present.js'
import { anyText, type Infer, integer, oneOf } from '../values/schema.js'
import { view } from '../values/shape.js'
import { attemptLabel, type Job } from './job.js'

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

type ProjectedJob = Pick<
  Job,
  'state' | 'generation' | 'delivery' | 'attempt' | 'runAt' | 'firstStartedAt' | 'deadline' | 'backoffMs'
>

/** A policy may have a thousand retries; a chart shows at most this many. */
const GHOSTS_MAX = 100

/** The future runs of a live job until its retries, or its time, are used up. */
export function projectionOf(job: ProjectedJob, policy: Policy, now: number): Projection {
  if (job.state !== 'waiting' && job.state !== 'running') return { ghosts: [] }
  const { startAt, attempt, windows, end } = remainsOf(job, policy, now)
  const ghosts: Ghost[] = []
  let [earliest, latest] = [startAt, startAt]
  if (job.state === 'waiting') {
    if (startAt > end.at) return { ghosts, dies: { earliest: end.at, latest: end.at, by: end.by } }
    ghosts.push({ attempt, label: attemptLabel(attempt, job.generation), earliest, latest })
  }
  for (const [index, { lo, hi }] of windows.entries()) {
    if (earliest + lo > end.at) return { ghosts, dies: { earliest: dieBy(end, earliest), latest: end.at, by: end.by } }
    earliest += lo
    latest = Math.min(latest + hi, end.at)
    const next = attempt + index + 1
    if (ghosts.length < GHOSTS_MAX) ghosts.push({ attempt: next, label: attemptLabel(next), earliest, latest })
  }
  return { ghosts, dies: { earliest, latest, by: latest === end.at ? end.by : 'exhausted' } }
}

/** What may still happen to a live job if every run from now on fails. Epoch milliseconds. */
export interface Outlook {
  /** The retries after the current run, or after the next one. */
  readonly retriesLeft: number
  /** The wait before the first of them. */
  readonly windowMs?: readonly [lo: number, hi: number]
  /** When the last run starts at the latest, not counting the duration of the runs. */
  readonly lastStartAt: number
  /** The limit that ends it before its retries are used up. */
  readonly endedBy?: 'deadline' | 'maxElapsed'
}

export function outlookOf(job: ProjectedJob, policy: Policy, now: number): Outlook {
  const { startAt, windows, end } = remainsOf(job, policy, now)
  const latest = windows.reduce((at, { hi }) => at + hi, startAt)
  const isCut = end.at < latest
  return present({
    retriesLeft: windows.length,
    windowMs: windows[0] && ([windows[0].lo, windows[0].hi] as const),
    lastStartAt: isCut ? Math.max(startAt, end.at) : latest,
    endedBy: isCut ? end.by : undefined,
  })
}

/** The next run, the waits after it, and the limit that may end the job before they are over. */
function remainsOf(job: ProjectedJob, policy: Policy, now: number) {
  const isRunning = job.state === 'running'
  const startAt = isRunning ? now : Math.max(now, job.runAt)
  // The attempt of a running job is already counted.
  const attempt = isRunning ? job.attempt : job.attempt + 1
  const windows = job.delivery === 'at-most-once' ? [] : windowsOf(policy, attempt, job.backoffMs)
  return { startAt, attempt, windows, end: endOf(job, policy, startAt) }
}

/** The wait before each retry from this attempt on; the widest range where a delay depends on the previous one. */
function windowsOf(policy: Policy, attempt: number, backoffMs: number | undefined): readonly DelayWindow[] {
  const windows: DelayWindow[] = []
  let previous = backoffMs
  for (let retry = attempt; retry <= policy.maxRetries; retry++) {
    const window = delayWindow(policy, retry, previous)
    if (window === null) break
    windows.push(window)
    previous = window.hi
  }
  return windows
}

interface End {
  readonly at: number
  readonly by: 'deadline' | 'maxElapsed'
}

function endOf(job: ProjectedJob, policy: Policy, startAt: number): End {
  const deadline = job.deadline ?? Number.POSITIVE_INFINITY
  const maxElapsed =
    policy.maxElapsed === undefined
      ? Number.POSITIVE_INFINITY
      : (job.firstStartedAt ?? startAt) + toMs(policy.maxElapsed, 'maxElapsed')
  return deadline <= maxElapsed ? { at: deadline, by: 'deadline' } : { at: maxElapsed, by: 'maxElapsed' }
}

/** A deadline ends a waiting job as it passes; `maxElapsed` takes effect when a run has failed. */
const dieBy = ({ at, by }: End, failedAt: number): number => (by === 'deadline' ? at : failedAt)
