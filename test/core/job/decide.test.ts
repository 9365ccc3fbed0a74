import { describe, expect, it } from 'vitest'
import { type DeathReason, type JobFacts, needsBegin, type StoredError } from '../../../src/core/job/job.js'
import {
  decide,
  LOSSES_MAX,
  type Outcome,
  RELEASES_MAX,
  type Reconciliation,
  SNOOZES_MAX,
  type Transition,
} from '../../../src/core/job/lifecycle.js'
import type { FailureKind, Policy } from '../../../src/core/policy/policy.js'

// Each row: the job, the outcome of its run, the resulting job. Times are milliseconds; unless a row says otherwise,
// the first run began at 0, it is now 10,000, and every random draw is one half.
interface Row {
  readonly is: string
  readonly job?: Omit<Partial<JobFacts>, 'policy'> & { readonly policy?: Partial<Policy> }
  readonly after: Outcome
  /** The answer of the `reconcile` hook. */
  readonly found?: Reconciliation
  readonly dice?: readonly number[]
  readonly becomes: Partial<Omit<Transition, 'decision'>>
  readonly why?: string
}

const NOW = 10_000
const DAY = 86_400_000

const policy: Policy = { maxRetries: 3, backoff: { type: 'exponential', base: '1s' }, jitter: 'none', cap: '60s' }

const ordinary: JobFacts = {
  attempt: 1,
  delivery: 'at-least-once',
  begun: false,
  snoozes: 0,
  releases: 0,
  losses: 0,
  strikes: 0,
  suspect: false,
  firstStartedAt: 0,
  cancelRequested: false,
  policy,
}

const once = { delivery: 'at-most-once', begun: true } as const
const held = { delivery: 'at-most-once', begun: false } as const
const unsentAgain = { ...once, retryUnsent: true } as const
const suspect = { suspect: true } as const
const forgiving = { crashes: 'forgive' } as const

const error: StoredError = { name: 'Error', message: 'connection reset', code: 'ECONNRESET' }
const failed = (kind: FailureKind = 'transient', more: object = {}): Outcome => ({
  kind: 'failed',
  error,
  classification: { kind, rule: 'default' },
  ...more,
})
const unsent = failed('transient', {
  classification: { kind: 'transient', rule: 'built-in: ECONNREFUSED' },
  maybeExecuted: false,
})
const byRule = (delayMs: number, more: object = {}): Outcome =>
  failed('transient', { classification: { kind: 'transient', rule: 'rule 2 (code ECONNRESET)', delayMs }, ...more })
const timedOut: Outcome = { kind: 'timed-out', error: { name: 'TimeoutError', message: 'over 30s' } }
const snoozed = (delayMs: number, note?: string): Outcome => ({ kind: 'snoozed', delayMs, ...(note && { note }) })
const released: Outcome = { kind: 'released', note: 'the worker stopped' }
const deferred = (delayMs: number): Outcome => ({
  kind: 'deferred',
  delayMs,
  note: 'the circuit is open',
  by: 'circuit',
})
const lostAlone: Outcome = { kind: 'lost', alone: true }
const lostWithOthers: Outcome = { kind: 'lost', alone: false }

const custom = { backoff: { type: 'custom', name: 'mine' } } as const
const list = { backoff: { type: 'list', delays: ['5s', '7s'] } } as const

const dead = (reason: DeathReason) => ({ to: 'dead', reason, delayMs: 0 }) as const

// biome-ignore format: a table reads best with one row per line
const TABLES: Readonly<Record<string, readonly Row[]>> = {
  success: [
    { is: 'ends the job', after: { kind: 'succeeded' }, becomes: { to: 'succeeded', status: 'succeeded' }, why: 'succeeded at the first run' },
    { is: 'says which retry it was', job: { attempt: 3 }, after: { kind: 'succeeded' }, becomes: { to: 'succeeded' }, why: 'succeeded at retry 2' },
    { is: 'clears a suspect', job: suspect, after: { kind: 'succeeded' }, becomes: { suspect: false } },
    { is: 'counts even when a cancel came too late', job: { cancelRequested: true }, after: { kind: 'succeeded' }, becomes: { to: 'succeeded' } },
    { is: 'ends an at-most-once job', job: once, after: { kind: 'succeeded' }, becomes: { to: 'succeeded' } },
  ],

  'a failure (R6, R8, R20)': [
    { is: 'is retried, and uses up its attempt', after: failed(), becomes: { to: 'waiting', status: 'failed', delayMs: 1_000, attemptBack: false, backoffMs: 1_000 }, why: 'retry 1 of 3 in 1s: ECONNRESET is transient (default)' },
    { is: 'waits longer each time', job: { attempt: 3 }, after: failed(), becomes: { to: 'waiting', delayMs: 4_000 } },
    { is: 'after the last retry is the end', job: { attempt: 4 }, after: failed(), becomes: { ...dead('exhausted'), status: 'failed', attemptBack: false }, why: 'died: all 3 retries used' },
    { is: 'without retries is the end', job: { policy: { maxRetries: 0 } }, after: failed(), becomes: dead('exhausted'), why: 'died: its policy has no retries' },
    { is: 'after the only retry is the end', job: { attempt: 2, policy: { maxRetries: 1 } }, after: failed(), becomes: dead('exhausted'), why: 'died: its one retry is used' },
    { is: 'beyond a limit that was lowered since is the end', job: { attempt: 9 }, after: failed(), becomes: dead('exhausted') },
    { is: 'keeps a suspect a suspect', job: suspect, after: failed(), becomes: { to: 'waiting', suspect: true } },
    { is: 'draws its delay from the window', job: { policy: { jitter: 0.2 } }, after: failed(), dice: [0.75], becomes: { delayMs: 1_100, backoffMs: 1_100 } },
    { is: 'builds decorrelated jitter on the last backoff', job: { attempt: 2, backoffMs: 2_000, policy: { jitter: 'decorrelated' } }, after: failed(), becomes: { delayMs: 3_500, backoffMs: 3_500 } },
    { is: 'of a job with a requested cancel cancels it', job: { cancelRequested: true }, after: failed(), becomes: { to: 'cancelled', status: 'failed', delayMs: 0 } },
    { is: 'after the last retry is death, with or without a cancel', job: { attempt: 4, cancelRequested: true }, after: failed(), becomes: dead('exhausted') },
  ],

  'a permanent failure (R9)': [
    { is: 'permanent', after: failed('permanent', { classification: { kind: 'permanent', rule: 'built-in: ValidationError' } }), becomes: dead('permanent'), why: 'died: ValidationError is permanent (built-in)' },
    { is: 'gone', after: failed('gone'), becomes: dead('gone') },
    { is: 'blocked', after: failed('blocked'), becomes: dead('blocked') },
  ],

  'a timeout': [
    { is: 'is a failure like any other', after: timedOut, becomes: { to: 'waiting', status: 'timed-out', delayMs: 1_000 }, why: 'retry 1 of 3 in 1s: the run timed out' },
    { is: 'after the last retry is the end', job: { attempt: 4 }, after: timedOut, becomes: { ...dead('exhausted'), status: 'timed-out' } },
    { is: 'uses the custom backoff too', job: { policy: custom }, after: { ...timedOut, customDelayMs: 77 }, becomes: { delayMs: 77 } },
  ],

  'a list of delays': [
    { is: 'gives its delays in turn', job: { attempt: 2, policy: list }, after: failed(), becomes: { delayMs: 7_000 } },
    { is: 'ends the job when it is over', job: { attempt: 3, policy: list }, after: failed(), becomes: dead('exhausted'), why: 'died: its list of delays is over' },
    { is: 'repeats its last delay if it may', job: { attempt: 3, policy: { backoff: { ...list.backoff, afterEnd: 'repeat-last' } } }, after: failed(), becomes: { delayMs: 7_000 } },
  ],

  'the delay of a rule': [
    { is: 'replaces the backoff and does not feed the next', job: { attempt: 2, backoffMs: 1_000 }, after: byRule(20_000), becomes: { delayMs: 20_000, backoffMs: 1_000 }, why: 'retry 2 of 3 in 20s: ECONNRESET is transient (rule 2)' },
    { is: 'is capped', after: byRule(DAY), becomes: { delayMs: 60_000 } },
    { is: 'is jittered', job: { policy: { jitter: 'full' } }, after: byRule(20_000), dice: [0.25], becomes: { delayMs: 5_000 } },
    { is: 'is jittered as equal where the policy says decorrelated', job: { policy: { jitter: 'decorrelated' } }, after: byRule(20_000), dice: [0], becomes: { delayMs: 10_000 } },
    { is: 'does not prolong a list that is over', job: { attempt: 3, policy: list }, after: byRule(20_000), becomes: dead('exhausted') },
    { is: 'goes before a custom backoff', job: { policy: custom }, after: byRule(20_000, { customDelayMs: 5 }), becomes: { delayMs: 20_000 } },
  ],

  'Retry-After': [
    { is: 'is a floor', after: failed('throttled', { retryAfterMs: 120_000 }), becomes: { delayMs: 120_000, backoffMs: 1_000 }, why: 'retry 1 of 3 in 2m: ECONNRESET is throttled (default); Retry-After asks for 2m' },
    { is: 'is never exceeded by jitter', job: { policy: { jitter: 0.2 } }, after: failed('throttled', { retryAfterMs: 1_000 }), dice: [0.999999], becomes: { delayMs: 1_000, backoffMs: 1_200 } },
    { is: 'is the least of a longer backoff with jitter', job: { attempt: 2, policy: { jitter: 'full' } }, after: failed('throttled', { retryAfterMs: 1_500 }), dice: [0.5], becomes: { delayMs: 1_500 } },
    { is: 'leaves the jitter of a longer backoff alone', job: { attempt: 2, policy: { jitter: 0.2 } }, after: failed('throttled', { retryAfterMs: 1_500 }), dice: [0.999999], becomes: { delayMs: 2_400 } },
    { is: 'yields to a longer backoff', job: { attempt: 2 }, after: failed('throttled', { retryAfterMs: 0 }), becomes: { delayMs: 2_000 } },
    { is: 'may exceed the cap, up to 24 hours', after: failed('throttled', { retryAfterMs: 10 * DAY }), dice: [0.999999], becomes: { delayMs: DAY } },
    { is: 'adds no attempt', job: { attempt: 4 }, after: failed('throttled', { retryAfterMs: 1_000 }), becomes: dead('exhausted') },
    { is: 'is ignored where the policy says so', job: { policy: { retryAfter: false } }, after: failed('throttled', { retryAfterMs: 120_000 }), becomes: { delayMs: 1_000 } },
    { is: 'is a floor for a custom backoff too', job: { policy: custom }, after: failed('throttled', { retryAfterMs: 50_000, customDelayMs: 5 }), dice: [0], becomes: { delayMs: 50_000, backoffMs: 5 } },
    { is: 'past maxElapsed is the end', job: { policy: { maxElapsed: '1m' } }, after: failed('throttled', { retryAfterMs: 120_000 }), becomes: dead('too-old') },
  ],

  'a custom backoff': [
    { is: 'decides the delay, without jitter', job: { policy: { ...custom, jitter: 'full' } }, after: failed('transient', { customDelayMs: 1_234.4 }), becomes: { delayMs: 1_234, backoffMs: 1_234 } },
    { is: 'is capped', job: { policy: custom }, after: failed('transient', { customDelayMs: DAY }), becomes: { delayMs: 60_000 } },
    { is: 'stops with null', job: { policy: custom }, after: failed('transient', { customDelayMs: null }), becomes: dead('exhausted'), why: 'died: the custom backoff "mine" said stop' },
    { is: 'gives no more than maxRetries', job: { attempt: 4, policy: custom }, after: failed('transient', { customDelayMs: 5 }), becomes: dead('exhausted') },
    { is: 'that is missing falls back to the standard backoff', job: { attempt: 1, policy: custom }, after: failed(), becomes: { delayMs: 60_000 }, why: 'retry 1 of 3 in 1m: ECONNRESET is transient (default); the custom backoff "mine" gave no usable delay, so the standard backoff holds' },
    { is: 'that returns NaN falls back', job: { policy: custom }, after: failed('transient', { customDelayMs: Number.NaN }), becomes: { delayMs: 60_000 } },
    { is: 'that returns a negative number falls back', job: { policy: custom }, after: failed('transient', { customDelayMs: -1 }), becomes: { delayMs: 60_000 } },
    { is: 'that returns Infinity falls back', job: { policy: custom }, after: failed('transient', { customDelayMs: Number.POSITIVE_INFINITY }), becomes: { delayMs: 60_000 } },
  ],

  'time that runs out': [
    { is: 'maxElapsed: exactly at its end is in time', job: { policy: { maxElapsed: 11_000 } }, after: failed(), becomes: { to: 'waiting', delayMs: 1_000 } },
    { is: 'maxElapsed: one millisecond over is too old', job: { policy: { maxElapsed: 10_999 } }, after: failed(), becomes: dead('too-old'), why: 'died: its next run would be later than maxElapsed allows' },
    { is: 'maxElapsed: counts from the first start', job: { firstStartedAt: 5_000, policy: { maxElapsed: 6_000 } }, after: failed(), becomes: { to: 'waiting' } },
    { is: 'deadline: exactly at it is in time', job: { deadline: 11_000 }, after: failed(), becomes: { to: 'waiting' } },
    { is: 'deadline: one millisecond over has expired', job: { deadline: 10_999 }, after: failed(), becomes: dead('expired') },
    { is: 'deadline: a snooze past it has expired', job: { deadline: 11_000 }, after: snoozed(1_001), becomes: { ...dead('expired'), attemptBack: true, snoozes: 1 } },
    { is: 'deadline: a deferral past it has expired', job: { deadline: 11_000 }, after: deferred(1_001), becomes: dead('expired') },
    { is: 'deadline: a job released after it has expired', job: { deadline: 9_999 }, after: released, becomes: dead('expired') },
    { is: 'deadline: a job lost after it has expired', job: { deadline: 9_999 }, after: lostWithOthers, becomes: dead('expired') },
    { is: 'deadline and maxElapsed: the job is too old', job: { deadline: 9_999, policy: { maxElapsed: 5 } }, after: failed(), becomes: dead('too-old') },
    { is: 'maxElapsed: a deferral over it is too old', job: { policy: { maxElapsed: 11_000 } }, after: deferred(1_001), becomes: dead('too-old') },
    { is: 'maxElapsed: does not limit a snooze', job: { policy: { maxElapsed: 11_000 } }, after: snoozed(1_001), becomes: { to: 'waiting' } },
  ],

  'a snooze': [
    { is: 'gives the attempt back', job: { attempt: 4 }, after: snoozed(10_000, 'not reserved yet'), becomes: { to: 'waiting', status: 'snoozed', delayMs: 10_000, attemptBack: true, snoozes: 1 }, why: 'snoozed for 10s: not reserved yet' },
    { is: 'is allowed a thousand times', job: { snoozes: SNOOZES_MAX - 1 }, after: snoozed(1), becomes: { to: 'waiting', snoozes: SNOOZES_MAX } },
    { is: 'is the end the time after', job: { snoozes: SNOOZES_MAX }, after: snoozed(1), becomes: dead('exhausted') },
    { is: 'without a sensible delay is at once', after: snoozed(Number.NaN), becomes: { to: 'waiting', delayMs: 0 } },
    { is: 'of a job with a requested cancel cancels it', job: { cancelRequested: true }, after: snoozed(1), becomes: { to: 'cancelled', attemptBack: true } },
    { is: 'keeps the backoff for later', job: { backoffMs: 4_000 }, after: snoozed(1), becomes: { backoffMs: 4_000 } },
  ],

  'a release': [
    { is: 'gives the attempt back, at once', job: { attempt: 3 }, after: released, becomes: { to: 'waiting', status: 'released', delayMs: 0, attemptBack: true, releases: 1 }, why: 'handed back: the worker stopped' },
    { is: 'of the last permitted attempt is free too', job: { attempt: 4, begun: true }, after: released, becomes: { to: 'waiting', attemptBack: true, releases: 1 } },
    { is: 'of the last permitted attempt that had not begun costs nothing', job: { attempt: 4 }, after: released, becomes: { to: 'waiting', attemptBack: true, releases: 0 } },
    { is: 'of a job without retries that had begun is the end', job: { begun: true, policy: { maxRetries: 0 } }, after: released, becomes: { ...dead('exhausted'), status: 'released', attemptBack: false }, why: 'died: the worker stopped after the run had started, and a job without retries is not started again' },
    { is: 'of a job without retries that had not begun costs nothing', job: { policy: { maxRetries: 0 } }, after: released, becomes: { to: 'waiting', attemptBack: true, releases: 0 } },
    { is: 'of a job without retries is free where crashes are forgiven', job: { policy: { ...forgiving, maxRetries: 0 } }, after: released, becomes: { to: 'waiting', attemptBack: true, releases: 1 } },
    { is: 'is free twenty times', job: { releases: RELEASES_MAX - 1 }, after: released, becomes: { to: 'waiting', attemptBack: true, releases: RELEASES_MAX } },
    { is: 'counts from then on', job: { attempt: 3, releases: RELEASES_MAX }, after: released, becomes: { to: 'waiting', attemptBack: false, delayMs: 0, releases: RELEASES_MAX + 1 } },
    { is: 'that counts may be the last', job: { attempt: 4, begun: true, releases: RELEASES_MAX }, after: released, becomes: dead('exhausted') },
    { is: 'of a suspect that had not begun costs nothing', job: { ...suspect, releases: RELEASES_MAX, attempt: 4 }, after: released, becomes: { to: 'waiting', attemptBack: true, releases: RELEASES_MAX, suspect: true } },
    { is: 'of a job with a requested cancel cancels it', job: { cancelRequested: true }, after: released, becomes: { to: 'cancelled' } },
  ],

  'a deferral': [{ is: 'gives the attempt back', job: { attempt: 4 }, after: deferred(30_000), becomes: { to: 'waiting', status: 'deferred', delayMs: 30_000, attemptBack: true }, why: 'deferred for 30s: the circuit is open' }],


  'a crash with others (R52)': [
    { is: 'counts like a failure, and makes a suspect', after: lostWithOthers, becomes: { to: 'waiting', status: 'lost', delayMs: 1_000, attemptBack: false, losses: 1, strikes: 0, suspect: true }, why: 'retry 1 of 3 in 1s: its worker was lost with other jobs' },
    { is: 'counts also where the policy says so', job: { policy: { crashes: 'count' } }, after: lostWithOthers, becomes: { to: 'waiting', attemptBack: false, losses: 1 } },
    { is: 'counts however often it was lost before', job: { attempt: 3, losses: 2 }, after: lostWithOthers, becomes: { to: 'waiting', attemptBack: false, delayMs: 4_000, losses: 3 } },
    { is: 'of the last permitted attempt is the end, once it has begun', job: { attempt: 4, begun: true }, after: lostWithOthers, becomes: { ...dead('exhausted'), attemptBack: false, losses: 1 }, why: 'died: all 3 retries used' },
    { is: 'of the last permitted attempt that had not begun is nothing', job: { attempt: 4 }, after: lostWithOthers, becomes: { to: 'waiting', status: 'lost', attemptBack: true, delayMs: 0, losses: 0, suspect: false }, why: 'waits again, because it had not begun: its worker was lost' },
    { is: 'of the only attempt is the end, once it has begun', job: { begun: true, policy: { maxRetries: 0 } }, after: lostWithOthers, becomes: dead('exhausted'), why: 'died: its policy has no retries' },
    { is: 'of the only attempt that had not begun is nothing', job: { policy: { maxRetries: 0 } }, after: lostWithOthers, becomes: { to: 'waiting', attemptBack: true, delayMs: 0, suspect: false } },
    { is: 'of a suspect that had begun is another loss', job: { ...suspect, begun: true }, after: lostWithOthers, becomes: { to: 'waiting', attemptBack: false, losses: 1 } },
    { is: 'of a suspect that had not begun is nothing', job: suspect, after: lostWithOthers, becomes: { to: 'waiting', attemptBack: true, losses: 0, suspect: true } },
    { is: 'of a worker without a handler for the job is nothing', after: { kind: 'lost', alone: false, hadHandler: false }, becomes: { to: 'waiting', attemptBack: true, losses: 0, suspect: false } },
    { is: 'of a job with a requested cancel cancels it', job: { cancelRequested: true }, after: lostWithOthers, becomes: { to: 'cancelled', status: 'lost' } },
  ],

  'a crash with others, forgiven': [
    { is: 'is not a failure, but makes a suspect', job: { attempt: 4, policy: forgiving }, after: lostWithOthers, becomes: { to: 'waiting', status: 'lost', delayMs: 0, attemptBack: true, losses: 1, strikes: 0, suspect: true }, why: 'its worker was lost with other jobs, for an unknown reason' },
    { is: 'is not a failure of a job without retries either', job: { policy: { ...forgiving, maxRetries: 0 } }, after: lostWithOthers, becomes: { to: 'waiting', attemptBack: true, losses: 1 } },
    { is: 'is free ten times', job: { losses: LOSSES_MAX - 1, policy: forgiving }, after: lostWithOthers, becomes: { to: 'waiting', attemptBack: true, losses: LOSSES_MAX } },
    { is: 'is charged from then on', job: { losses: LOSSES_MAX, policy: forgiving }, after: lostWithOthers, becomes: { to: 'waiting', attemptBack: false, delayMs: 1_000, losses: LOSSES_MAX + 1, suspect: true }, why: 'retry 1 of 3 in 1s: its worker was lost for the 11th time, which counts' },
    { is: 'that is charged may be the last', job: { attempt: 4, losses: LOSSES_MAX, policy: forgiving }, after: lostWithOthers, becomes: { ...dead('exhausted'), losses: LOSSES_MAX + 1 } },
    { is: 'of a suspect that had begun is another loss', job: { ...suspect, begun: true, policy: forgiving }, after: lostWithOthers, becomes: { attemptBack: true, losses: 1 } },
    { is: 'of a suspect that had not begun is nothing', job: { ...suspect, policy: forgiving }, after: lostWithOthers, becomes: { to: 'waiting', attemptBack: true, losses: 0, suspect: true } },
    { is: 'of a job with a requested cancel cancels it', job: { cancelRequested: true, policy: forgiving }, after: lostWithOthers, becomes: { to: 'cancelled', status: 'lost' } },
  ],

  'a crash alone': [
    { is: 'is charged and is a strike', after: lostAlone, becomes: { to: 'waiting', status: 'lost', delayMs: 1_000, attemptBack: false, strikes: 1, losses: 0, suspect: true } },
    { is: 'three times is poison, whatever the policy', job: { strikes: 2, policy: { maxRetries: 1000 } }, after: lostAlone, becomes: { ...dead('poison'), strikes: 3 } },
    { is: 'three times is poison also with no retry left', job: { attempt: 4, begun: true, strikes: 2 }, after: lostAlone, becomes: dead('poison') },
    { is: 'with no retry left is the end', job: { attempt: 4, begun: true, strikes: 1 }, after: lostAlone, becomes: { ...dead('exhausted'), strikes: 2 } },
    { is: 'with no retry left is nothing if it had not begun', job: { attempt: 4, strikes: 1 }, after: lostAlone, becomes: { to: 'waiting', attemptBack: true, strikes: 1 } },
    { is: 'without retries is the end, once it has begun', job: { begun: true, policy: { maxRetries: 0 } }, after: lostAlone, becomes: { ...dead('exhausted'), strikes: 1 } },
    { is: 'is charged even where crashes are forgiven', job: { policy: forgiving }, after: lostAlone, becomes: { to: 'waiting', attemptBack: false, strikes: 1 } },
    { is: 'of a worker without a handler for the job is no strike', after: { kind: 'lost', alone: true, hadHandler: false }, becomes: { to: 'waiting', attemptBack: true, strikes: 0 } },
    { is: 'of a suspect that had begun is a strike', job: { ...suspect, begun: true }, after: lostAlone, becomes: { strikes: 1, attemptBack: false } },
    { is: 'of a suspect that had not begun is nothing', job: { ...suspect, strikes: 2 }, after: lostAlone, becomes: { to: 'waiting', attemptBack: true, strikes: 2, delayMs: 0 } },
  ],

  'a cancel': [
    { is: 'ends the job', after: { kind: 'cancelled' }, becomes: { to: 'cancelled', status: 'cancelled', attemptBack: false } },
    { is: 'ends an at-most-once job', job: once, after: { kind: 'cancelled' }, becomes: { to: 'cancelled' } },
  ],

  'at most once (R21)': [
    { is: 'a known failure is the end', job: once, after: failed(), becomes: { ...dead('failed'), status: 'failed', attemptBack: false } },
    { is: 'a failure before the request was sent is known', job: once, after: failed('transient', { maybeExecuted: false }), becomes: dead('failed') },
    { is: 'a failure after the request was sent is not', job: once, after: failed('transient', { maybeExecuted: true }), becomes: dead('unknown-outcome') },
    { is: 'a failure before the request was sent is the end too', job: once, after: unsent, becomes: dead('failed'), why: 'died: ECONNREFUSED, and an at-most-once job is not retried' },
    { is: 'a permanent failure is a failure', job: once, after: failed('permanent'), becomes: dead('failed') },
    { is: 'a timeout leaves the outcome unknown', job: once, after: timedOut, becomes: { ...dead('unknown-outcome'), status: 'timed-out' } },
    { is: 'a snooze would be a second run', job: once, after: snoozed(10), becomes: dead('failed') },
    { is: 'released before it began: it waits again', job: held, after: released, becomes: { to: 'waiting', attemptBack: true, releases: 0 } },
    { is: 'released before it began, for the hundredth time: it still waits', job: { ...held, releases: 100 }, after: released, becomes: { to: 'waiting', attemptBack: true } },
    { is: 'released after it began: unknown', job: once, after: released, becomes: dead('unknown-outcome') },
    { is: 'lost before it began: it waits again and no loss is counted', job: held, after: lostWithOthers, becomes: { to: 'waiting', attemptBack: true, losses: 0, suspect: false } },
    { is: 'lost alone before it began: no strike', job: { ...held, strikes: 2 }, after: lostAlone, becomes: { to: 'waiting', strikes: 2 } },
    { is: 'lost after it began: unknown', job: once, after: lostWithOthers, becomes: dead('unknown-outcome') },
    { is: 'lost alone after it began: unknown', job: once, after: lostAlone, becomes: dead('unknown-outcome') },
    { is: 'deferred before it began: it waits', job: held, after: deferred(500), becomes: { to: 'waiting', delayMs: 500, attemptBack: true } },
    { is: 'deferred after it began: unknown', job: once, after: deferred(500), becomes: dead('unknown-outcome') },
    { is: 'a cancel does not hide that the outcome is unknown', job: { ...once, cancelRequested: true }, after: lostAlone, becomes: dead('unknown-outcome') },
    { is: 'a cancel before it began cancels', job: { ...held, cancelRequested: true }, after: released, becomes: { to: 'cancelled' } },
  ],

  'at most once, with retryUnsent': [
    { is: 'a request that was never sent is retried', job: unsentAgain, after: unsent, becomes: { to: 'waiting', status: 'failed', delayMs: 1_000, attemptBack: false }, why: 'retry 1 of 3 in 1s: ECONNREFUSED, so the request was never sent' },
    { is: 'waits longer each time', job: { ...unsentAgain, attempt: 3 }, after: unsent, becomes: { to: 'waiting', delayMs: 4_000 } },
    { is: 'after the last retry is a known failure', job: { ...unsentAgain, attempt: 4 }, after: unsent, becomes: dead('failed'), why: 'died: all 3 retries used' },
    { is: 'a wrong certificate is not retried', job: unsentAgain, after: failed('permanent', { maybeExecuted: false }), becomes: dead('failed') },
    { is: 'too late is a known failure', job: { ...unsentAgain, policy: { maxElapsed: 5 } }, after: unsent, becomes: dead('failed') },
    { is: 'after its deadline has expired', job: { ...unsentAgain, deadline: 10_999 }, after: unsent, becomes: dead('expired') },
    { is: 'of a job with a requested cancel cancels it', job: { ...unsentAgain, cancelRequested: true }, after: unsent, becomes: { to: 'cancelled' } },
    { is: 'a response is the end', job: unsentAgain, after: failed(), becomes: dead('failed') },
    { is: 'a request that was sent is unknown', job: unsentAgain, after: failed('transient', { maybeExecuted: true }), becomes: dead('unknown-outcome') },
    { is: 'a timeout is unknown', job: unsentAgain, after: timedOut, becomes: dead('unknown-outcome') },
    { is: 'a lost worker is unknown', job: unsentAgain, after: lostAlone, becomes: dead('unknown-outcome') },
    { is: 'an ordinary job does not need it', job: { retryUnsent: true }, after: failed(), becomes: { to: 'waiting' } },
  ],

  'at most once, reconciled': [
    { is: 'done: it succeeded', job: once, after: lostAlone, found: 'done', becomes: { to: 'succeeded', status: 'succeeded' }, why: 'succeeded: its worker was lost, and reconcile found it done' },
    { is: 'done after a timeout', job: once, after: timedOut, found: 'done', becomes: { to: 'succeeded', status: 'succeeded' } },
    { is: 'done, a cancel came too late', job: { ...once, cancelRequested: true }, after: lostAlone, found: 'done', becomes: { to: 'succeeded' } },
    { is: 'not done: it may be tried again', job: once, after: lostAlone, found: 'not-done', becomes: { to: 'waiting', status: 'lost', delayMs: 1_000, attemptBack: false, strikes: 0, losses: 0 }, why: 'retry 1 of 3 in 1s: its worker was lost, and reconcile found it not done' },
    { is: 'not done after a reset: by the rule that fits', job: once, after: byRule(20_000, { maybeExecuted: true }), found: 'not-done', becomes: { to: 'waiting', delayMs: 20_000 } },
    { is: 'not done, with no retry left: a known failure', job: { ...once, attempt: 4 }, after: timedOut, found: 'not-done', becomes: { ...dead('failed'), status: 'timed-out' }, why: 'died: all 3 retries used' },
    { is: 'not done, with no retries at all: a known failure', job: { ...once, policy: { maxRetries: 0 } }, after: lostAlone, found: 'not-done', becomes: dead('failed') },
    { is: 'not done, with a requested cancel', job: { ...once, cancelRequested: true }, after: released, found: 'not-done', becomes: { to: 'cancelled' } },
    { is: 'not done, past its deadline', job: { ...once, deadline: 9_999 }, after: lostAlone, found: 'not-done', becomes: dead('expired') },
    { is: 'ask: unknown, until manual review', job: once, after: lostAlone, found: 'ask', becomes: { ...dead('unknown-outcome'), status: 'lost' }, why: 'died: its worker was lost; reconcile asks for manual review' },
    { is: 'no answer: unknown', job: once, after: timedOut, found: 'no-answer', becomes: dead('unknown-outcome'), why: 'died: the run timed out, reconcile gave no answer; it may have been carried out, and is not run twice' },
    { is: 'a known failure is not asked about', job: once, after: failed(), found: 'done', becomes: dead('failed') },
    { is: 'what had not begun is not asked about', job: held, after: lostAlone, found: 'done', becomes: { to: 'waiting', attemptBack: true } },
    { is: 'an ordinary job is not asked about', after: lostWithOthers, found: 'done', becomes: { to: 'waiting' } },
  ],
}

describe('decide', () => {
  describe.each(Object.entries(TABLES))('%s', (_, rows) => {
    it.each(rows)('$is', ({ job, after, found, dice = [0.5], becomes, why }) => {
      const facts = { ...ordinary, ...job, policy: { ...policy, ...job?.policy } }
      const transition = decide(facts, after, NOW, thrown(dice), found)
      expect(transition).toMatchObject(becomes)
      expect(transition.decision.why).toMatch(
        /^(retry|died:|succeeded|cancelled|snoozed|handed back|deferred|waits|its worker)/,
      )
      if (why !== undefined) expect(transition.decision.why).toBe(why)
      expect(transition.to === 'dead').toBe(transition.reason !== undefined)
    })
  })

  // The last failure before this run was at 4,000.
  it.each<[string, Outcome, number | undefined, Partial<JobFacts>?]>([
    ['a failure', failed(), NOW],
    ['a timeout', timedOut, NOW],
    ['a lost run', lostAlone, NOW],
    ['a lost run that is forgiven', lostWithOthers, NOW, { policy: { ...policy, ...forgiving } }],
    ['a deferral', deferred(500), 4_000],
    ['a run that was lost before it began', lostAlone, 4_000, { attempt: 4 }],
    ['a run that was released before it began', released, 4_000, { attempt: 4 }],
    ['a release of a run that had started', released, undefined],
    ['a snooze', snoozed(500), undefined],
    ['a success', { kind: 'succeeded' }, undefined],
    ['a failure that is the last', failed(), undefined, { attempt: 4, begun: true }],
    ['a cancel', { kind: 'cancelled' }, undefined],
  ])('counts the latency of a retry from the last failure: after %s', (_, after, failedAt, job = {}) => {
    const transition = decide({ ...ordinary, attempt: 2, failedAt: 4_000, ...job }, after, NOW, () => 0.5)
    expect(transition.failedAt).toBe(failedAt)
  })

  it('starts no handler more than maxRetries + 1 times, whatever crashes (R52)', () => {
    for (const maxRetries of [0, 1, 2, 3, 10]) {
      for (const [index, after] of [lostAlone, lostWithOthers].entries()) {
        let job: JobFacts = { ...ordinary, policy: { ...policy, maxRetries } }
        let starts = 0
        for (let run = 1; run <= 50; run++) {
          // Every second run is lost before its handler starts. Only a run behind `begin` is known not to have started.
          const hasStarted = run % 2 === index
          if (hasStarted) starts++
          const begun = hasStarted && needsBegin(job, job.policy)
          const { to, attemptBack, decision, ...counters } = decide({ ...job, begun }, after, NOW, () => 0.5)
          if (to !== 'waiting') break
          job = { ...job, ...counters, attempt: attemptBack ? job.attempt : job.attempt + 1 }
        }
        expect(starts, `${maxRetries} retries`).toBeLessThanOrEqual(maxRetries + 1)
        expect(starts, `${maxRetries} retries`).toBeGreaterThan(0)
      }
    }
  })

  it('marks the decision about a run that did not count', () => {
    expect(decide(ordinary, released, NOW, () => 0.5).decision).toHaveProperty('free', true)
    expect(decide(ordinary, lostWithOthers, NOW, () => 0.5).decision).not.toHaveProperty('free')
  })

  it('never starts an at-most-once job that has begun a second time, whatever its outcome (R21)', () => {
    const ends = Object.values(TABLES).flatMap(rows => rows.map(row => row.after))
    for (const after of ends) {
      expect(decide({ ...ordinary, ...once }, after, NOW, () => 0.5).to).not.toBe('waiting')
    }
  })

  it('starts one a second time only if the first start certainly had no effect', () => {
    const ends = Object.values(TABLES).flatMap(rows => rows.map(row => row.after))
    for (const after of ends) {
      const certain = 'maybeExecuted' in after && after.maybeExecuted === false
      const { to } = decide({ ...ordinary, ...unsentAgain }, after, NOW, () => 0.5)
      if (!certain) expect(to, JSON.stringify(after)).not.toBe('waiting')
      for (const found of ['done', 'ask', 'no-answer'] as const) {
        expect(decide({ ...ordinary, ...once }, after, NOW, () => 0.5, found).to).not.toBe('waiting')
      }
    }
  })

  it('records what reconcile found', () => {
    const found = (answer: Reconciliation) =>
      decide({ ...ordinary, ...once }, lostAlone, NOW, () => 0.5, answer).decision
    for (const answer of ['done', 'not-done', 'ask', 'no-answer'] as const)
      expect(found(answer).reconciled).toBe(answer)
    expect(decide({ ...ordinary, ...once }, lostAlone, NOW, () => 0.5).decision).not.toHaveProperty('reconciled')
  })

  it('records how a delay was computed (R10)', () => {
    const facts = { ...ordinary, attempt: 2, policy: { ...policy, jitter: 0.2 } }
    expect(decide(facts, failed('throttled', { retryAfterMs: 1 }), NOW, () => 0.5).decision).toEqual({
      action: 'retry',
      why: 'retry 2 of 3 in 2s: ECONNRESET is throttled (default)',
      kind: 'throttled',
      rule: 'default',
      retry: 2,
      maxRetries: 3,
      strategy: 'exponential',
      jitter: '±20 %',
      rawMs: 2_000,
      capMs: 60_000,
      windowMs: [1_600, 2_400],
      draw: 0.5,
      retryAfterMs: 1,
      source: 'backoff',
      delayMs: 2_000,
    })
  })

  it('decides the same for the same inputs', () => {
    const facts = { ...ordinary, policy: { ...policy, jitter: 'full' } as const }
    expect(decide(facts, failed(), NOW, () => 0.3)).toEqual(decide(facts, failed(), NOW, () => 0.3))
  })

  it('keeps only JSON in its record, also where the raw delay is beyond numbers', () => {
    const facts = {
      ...ordinary,
      attempt: 900,
      policy: { ...policy, maxRetries: 1_000, backoff: { type: 'exponential', base: '1s', factor: 100 } as const },
    }
    const { decision } = decide(facts, failed(), NOW, () => 0.5)
    expect(JSON.parse(JSON.stringify(decision))).toEqual(decision)
    expect(decision.delayMs).toBe(60_000)
  })
})

/** Draws these values in turn, the last one for ever. */
function thrown(faces: readonly number[]): () => number {
  let i = 0
  return () => faces[Math.min(i++, faces.length - 1)]!
}
