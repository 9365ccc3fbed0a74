import { delayWindow } from '../policy/backoff.js'
import type { DelayWindow } from '../policy/jitter.js'
import type { Policy } from '../policy/policy.js'
import { toMs } from '../values/duration.js'
import { present } from '../values/present.js'
import type { Job } from './job.js'

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

export type OutlookJob = Pick<
  Job,
  'state' | 'delivery' | 'attempt' | 'runAt' | 'firstStartedAt' | 'deadline' | 'backoffMs'
>

export function outlookOf(job: OutlookJob, policy: Policy, now: number): Outlook {
  const startAt = job.state === 'running' ? now : Math.max(now, job.runAt)
  // The attempt of a running job is already counted.
  const attempt = job.state === 'running' ? job.attempt : job.attempt + 1
  const windows = job.delivery === 'at-most-once' ? [] : windowsOf(policy, attempt, job.backoffMs)
  const ends: readonly (readonly ['deadline' | 'maxElapsed', number])[] = [
    ...(job.deadline === undefined ? [] : [['deadline', job.deadline] as const]),
    ...(policy.maxElapsed === undefined
      ? []
      : [['maxElapsed', (job.firstStartedAt ?? startAt) + toMs(policy.maxElapsed, 'maxElapsed')] as const]),
  ]
  const latest = windows.reduce((at, { hi }) => at + hi, startAt)
  const cut = ends.filter(([, at]) => at < latest).sort(([, a], [, b]) => a - b)[0]
  return present({
    retriesLeft: windows.length,
    windowMs: windows[0] && ([windows[0].lo, windows[0].hi] as const),
    lastStartAt: cut ? Math.max(startAt, cut[1]) : latest,
    endedBy: cut?.[0],
  })
}

/** The wait before each retry from this attempt on; the widest range where a delay depends on the previous one. */
export function windowsOf(policy: Policy, attempt: number, backoffMs: number | undefined): readonly DelayWindow[] {
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
