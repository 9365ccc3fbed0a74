import { capMs, delayWindow } from '../policy/backoff.js'
import { type DelayWindow, jitterWindow } from '../policy/jitter.js'
import type { Policy } from '../policy/policy.js'
import { toMs } from '../values/duration.js'
import { present } from '../values/present.js'
import { anyText, type Infer, integer, oneOf } from '../values/schema.js'
import { view } from '../values/shape.js'
import { attemptLabel, type Job, maxRetriesOf } from './job.js'

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
    if (startAt > end.at && end.by === 'deadline') return { ghosts, dies: demiseOf(startAt, windows, end) }
    ghosts.push({ attempt, label: attemptLabel(attempt, job.generation), earliest, latest })
  }
  const dies = demiseOf(startAt, windows, end)
  for (const [index, { lo, hi }] of windows.entries()) {
    if (earliest + lo > end.at) break
    earliest += lo
    latest = Math.min(latest + hi, end.at)
    const next = attempt + index + 1
    if (ghosts.length < GHOSTS_MAX) ghosts.push({ attempt: next, label: attemptLabel(next), earliest, latest })
  }
  return { ghosts, dies }
}

/**
 * When a job dies that starts at `startAt` and fails in every run, as `decide` would have it: after the last retry, or
 * as soon as a run fails whose next one would be later than the limit.
 */
export function demiseOf(startAt: number, windows: readonly DelayWindow[], end: End): Demise {
  // Only a deadline ends a job that has not started; maxElapsed is looked at when a run has failed.
  if (startAt > end.at) {
    const at = end.by === 'deadline' ? end.at : startAt
    return { earliest: at, latest: at, by: end.by }
  }
  let [lo, hi] = [startAt, startAt]
  let earliest = Number.POSITIVE_INFINITY
  let latest = startAt
  let isCut = false
  for (const window of windows) {
    if (lo > end.at) break
    // Some draws put the next run past the limit, so the run before it may be the last.
    if (hi + window.hi > end.at) {
      isCut = true
      earliest = Math.min(earliest, Math.max(lo, end.at - window.hi + 1))
      latest = Math.max(latest, hi)
    }
    lo += window.lo
    hi = Math.min(hi + window.hi, end.at)
  }
  if (lo <= end.at) {
    earliest = Math.min(earliest, lo)
    latest = Math.max(latest, hi)
  }
  return { earliest, latest, by: isCut ? end.by : 'exhausted' }
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
  const windows = windowsOf(policy, { attempt, delivery: job.delivery, ...present({ backoffMs: job.backoffMs }) })
  return { startAt, attempt, windows, end: endOf(job, policy, startAt) }
}

interface NextRun {
  /** The number of the run that comes next, or that is running. */
  readonly attempt: number
  readonly delivery: Job['delivery']
  /** The last computed backoff, on which decorrelated jitter builds. */
  readonly backoffMs?: number
  /** The delay of the rule that matches the failures, which replaces the backoff. */
  readonly ruleDelayMs?: number
  /** The delays of rules that may match instead, if the failures are not known yet. */
  readonly otherDelaysMs?: readonly number[]
}

/** The wait before each retry after this run; the widest range where a delay depends on the previous one. */
export function windowsOf(policy: Policy, run: NextRun): readonly DelayWindow[] {
  const windows: DelayWindow[] = []
  const ceiling = capMs(policy)
  const { attempt, ruleDelayMs, otherDelaysMs = [] } = run
  const byRule = (delayMs: number): DelayWindow => jitterWindow(policy.jitter, Math.min(delayMs, ceiling), ceiling)
  let previous = run.backoffMs
  for (let retry = attempt; retry <= maxRetriesOf(run, policy); retry++) {
    const window = delayWindow(policy, retry, previous)
    if (window === null) break
    const own = ruleDelayMs === undefined ? window : byRule(ruleDelayMs)
    windows.push(otherDelaysMs.map(byRule).reduce(spanning, own))
    previous = window.hi
  }
  return windows
}

const spanning = (a: DelayWindow, b: DelayWindow): DelayWindow => ({
  lo: Math.min(a.lo, b.lo),
  hi: Math.max(a.hi, b.hi),
})

export interface End {
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
