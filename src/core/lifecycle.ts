import { isFinal } from './classify.js'
import { DURATION_MAX_MS, formatMs, toMs } from './duration.js'
import type { DeathReason, JobFacts, JobState, RunStatus, StoredError } from './job.js'
import type { FailureKind } from './policy.js'
import { planRetry } from './retry.js'

export { RETRY_AFTER_MAX_MS } from './retry.js'

/** How often a run may end without counting before it counts after all: nothing loops for ever. */
export const SNOOZES_MAX = 1_000
export const RELEASES_MAX = 20
export const LOSSES_MAX = 10
/** Lost this often while it ran alone, a job is taken to be what kills its workers. */
export const STRIKES_MAX = 3

/** What a failure was taken for, and by which rule. */
export interface Classification {
  readonly kind: FailureKind
  /** The rule that matched, in words: `rule 2 (code ECONNRESET)`, `built-in: ValidationError`, `default`. */
  readonly rule: string
  readonly delayMs?: number
}

/** What a run ended with. */
export type Outcome =
  /** `note` says why a result was not kept. */
  | { readonly kind: 'succeeded'; readonly result?: string; readonly note?: string }
  | {
      readonly kind: 'failed'
      readonly error: StoredError
      readonly classification: Classification
      readonly retryAfterMs?: number
      /** false only where it is certain that no request left; true where one may have been carried out. */
      readonly maybeExecuted?: boolean
      /** What the custom backoff function of the worker answered; null means stop. */
      readonly customDelayMs?: number | null
    }
  | { readonly kind: 'timed-out'; readonly error: StoredError; readonly customDelayMs?: number | null }
  | { readonly kind: 'snoozed'; readonly delayMs: number; readonly note?: string }
  | { readonly kind: 'released'; readonly note: string }
  | { readonly kind: 'deferred'; readonly delayMs: number; readonly note: string }
  | { readonly kind: 'lost'; readonly alone: boolean }
  | { readonly kind: 'cancelled' }

/** Why the job goes where it goes; kept with the attempt and read by `explain`. */
export interface Decision {
  readonly action: 'succeed' | 'retry' | 'die' | 'cancel' | 'wait'
  /** One plain sentence for people. */
  readonly why: string
  readonly kind?: FailureKind
  readonly rule?: string
  /** Number of the retry decided about (1 follows the first failure), and how many there may be. */
  readonly retry?: number
  readonly maxRetries?: number
  readonly strategy?: string
  readonly jitter?: string
  readonly rawMs?: number
  readonly capMs?: number
  readonly windowMs?: readonly [lo: number, hi: number]
  readonly draw?: number
  readonly retryAfterMs?: number
  readonly source?: 'backoff' | 'rule' | 'retry-after' | 'snooze' | 'custom'
  readonly delayMs?: number
}

/** What the job becomes. */
export interface Transition {
  readonly status: RunStatus
  readonly to: Exclude<JobState, 'running'>
  readonly reason?: DeathReason
  /** How long until it may run again; only where `to` is `waiting`. */
  readonly delayMs: number
  /** The run did not count: the attempt is given back. */
  readonly attemptBack: boolean
  readonly snoozes: number
  readonly releases: number
  readonly losses: number
  readonly strikes: number
  readonly suspect: boolean
  readonly backoffMs?: number
  readonly decision: Decision
}

/** A run that has ended, on its way to a transition. */
interface Ended {
  readonly job: JobFacts
  readonly status: RunStatus
  readonly now: number
}

type Change = Partial<
  Pick<Transition, 'attemptBack' | 'snoozes' | 'releases' | 'losses' | 'strikes' | 'suspect' | 'backoffMs'>
>

/** A decision in the making: what it rests on, before the sentence. */
export type DecisionRecord = Draft<Omit<Decision, 'action' | 'why'>>

type Draft<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Where a job goes after a run: the specification of the product. `test/core/decide.test.ts` is its table.
 * It changes nothing; whoever calls it hands the transition to the store.
 */
export function decide(job: JobFacts, outcome: Outcome, now: number, random: () => number): Transition {
  const ended: Ended = { job, status: outcome.kind, now }
  if (outcome.kind === 'succeeded') return succeed(ended)
  if (outcome.kind === 'cancelled') return cancel(ended, 'cancelled: it was asked to stop')
  return job.delivery === 'at-most-once' ? decideOnce(ended, outcome) : decideAgain(ended, outcome, random)
}

type Unfinished = Exclude<Outcome, { kind: 'succeeded' | 'cancelled' }>

/** At most once: from `begin` on, every end is the last one. */
function decideOnce(ended: Ended, outcome: Unfinished): Transition {
  switch (outcome.kind) {
    case 'failed': {
      const record = { kind: outcome.classification.kind, rule: outcome.classification.rule }
      if (outcome.maybeExecuted === true) return unknownOutcome(ended, `${subjectOf(outcome)} tells nothing`, record)
      return die(ended, 'failed', `${subjectOf(outcome)}, and an at-most-once job is not retried`, {}, record)
    }
    case 'snoozed':
      return die(ended, 'failed', 'it asked to run again later, which an at-most-once job can not')
    case 'timed-out':
      return unknownOutcome(ended, 'the run timed out')
    case 'released':
      return ended.job.begun ? unknownOutcome(ended, outcome.note) : neverRan(ended, outcome.note)
    case 'lost':
      return ended.job.begun ? unknownOutcome(ended, 'its worker was lost') : neverRan(ended, 'its worker was lost')
    case 'deferred':
      return ended.job.begun ? unknownOutcome(ended, outcome.note) : defer(ended, outcome.delayMs, outcome.note)
  }
}

function decideAgain(ended: Ended, outcome: Unfinished, random: () => number): Transition {
  switch (outcome.kind) {
    case 'failed': {
      const { classification, retryAfterMs, customDelayMs } = outcome
      const words = `${subjectOf(outcome)} is ${classification.kind} (${originOf(classification)})`
      const told = {
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        ...(customDelayMs !== undefined && { customDelayMs }),
      }
      return afterFailure(ended, { words, ...classification, ...told }, {}, random)
    }
    case 'timed-out': {
      const { customDelayMs } = outcome
      const failure = { words: 'the run timed out', kind: 'transient', rule: 'timeout' } as const
      return afterFailure(ended, { ...failure, ...(customDelayMs !== undefined && { customDelayMs }) }, {}, random)
    }
    case 'snoozed':
      return snooze(ended, outcome)
    case 'released':
      return release(ended, outcome.note)
    case 'deferred':
      return defer(ended, outcome.delayMs, outcome.note)
    case 'lost':
      return lose(ended, outcome.alone, random)
  }
}

/** A failure of a job that may be retried, and what is known about when. */
export interface Failure extends Classification {
  /** Half a sentence for the decision record. */
  readonly words: string
  readonly retryAfterMs?: number
  readonly customDelayMs?: number | null
}

function afterFailure(ended: Ended, failure: Failure, change: Change, random: () => number): Transition {
  const { job } = ended
  const { policy, attempt: retry } = job
  const { maxRetries } = policy
  const record: DecisionRecord = { kind: failure.kind, rule: failure.rule, retry, maxRetries }
  if (isFinal(failure.kind)) return die(ended, failure.kind, failure.words, change, record)
  if (retry > maxRetries) return die(ended, 'exhausted', usedUp(maxRetries), change, record)

  const plan = planRetry(policy, retry, failure, job.backoffMs, random, record)
  if ('stop' in plan) return die(ended, 'exhausted', plan.stop, change, record)
  const { delayMs, backoffMs, remark } = plan
  record.delayMs = delayMs
  if (isTooOld(ended, delayMs)) return die(ended, 'too-old', TOO_OLD, change, record)
  const why = `retry ${retry} of ${maxRetries} in ${formatMs(delayMs)}: ${failure.words}${remark}`
  return wait(ended, delayMs, why, backoffMs === undefined ? change : { ...change, backoffMs }, record, 'retry')
}

function snooze(ended: Ended, outcome: Extract<Outcome, { kind: 'snoozed' }>): Transition {
  const change = { attemptBack: true, snoozes: ended.job.snoozes + 1 }
  if (change.snoozes > SNOOZES_MAX) return die(ended, 'exhausted', `it was snoozed over ${SNOOZES_MAX} times`, change)
  const delayMs = wholeMs(outcome.delayMs)
  const why = `snoozed for ${formatMs(delayMs)}${outcome.note === undefined ? '' : `: ${outcome.note}`}`
  return wait(ended, delayMs, why, change, { source: 'snooze', delayMs })
}

function release(ended: Ended, note: string): Transition {
  const { job } = ended
  if (job.suspect && !job.begun) return neverRan(ended, note)
  const releases = job.releases + 1
  if (releases <= RELEASES_MAX) return wait(ended, 0, `handed back: ${note}`, { attemptBack: true, releases })
  const { maxRetries } = job.policy
  if (job.attempt > maxRetries) return die(ended, 'exhausted', usedUp(maxRetries), { releases })
  return wait(ended, 0, `handed back for the ${releases}th time, which counts: ${note}`, { releases })
}

function defer(ended: Ended, delay: number, note: string): Transition {
  const delayMs = wholeMs(delay)
  if (isTooOld(ended, delayMs)) return die(ended, 'too-old', TOO_OLD, { attemptBack: true })
  return wait(ended, delayMs, `deferred for ${formatMs(delayMs)}: ${note}`, { attemptBack: true }, { delayMs })
}

const TOO_OLD = 'its next run would be later than maxElapsed allows'

function isTooOld({ job, now }: Ended, delayMs: number): boolean {
  const { maxElapsed } = job.policy
  return maxElapsed !== undefined && now + delayMs > (job.firstStartedAt ?? now) + toMs(maxElapsed, 'maxElapsed')
}

/** A crash is not a failure: only a job that was alone with its worker is held to account for it. */
function lose(ended: Ended, alone: boolean, random: () => number): Transition {
  const { job } = ended
  if (job.suspect && !job.begun) return neverRan(ended, 'its worker was lost')
  const failure = { kind: 'transient', rule: 'lost' } as const
  if (alone) {
    const change = { strikes: job.strikes + 1, suspect: true }
    const words = `its worker was lost while it ran alone (strike ${change.strikes} of ${STRIKES_MAX})`
    if (change.strikes >= STRIKES_MAX) return die(ended, 'poison', words, change, failure)
    return afterFailure(ended, { ...failure, words }, change, random)
  }
  const change = { losses: job.losses + 1, suspect: true }
  if (change.losses <= LOSSES_MAX) {
    return wait(ended, 0, 'its worker was lost with other jobs; nobody knows why', { ...change, attemptBack: true })
  }
  const words = `its worker was lost for the ${change.losses}th time, which counts`
  return afterFailure(ended, { ...failure, words }, change, random)
}

/** Behind `begin` nothing starts before it, so there is nothing to count. */
function neverRan(ended: Ended, note: string): Transition {
  return wait(ended, 0, `waits again, it had not begun: ${note}`, { attemptBack: true })
}

function unknownOutcome(ended: Ended, words: string, record: DecisionRecord = {}): Transition {
  return die(ended, 'unknown-outcome', `${words}; it may have been carried out, and is not run twice`, {}, record)
}

function succeed(ended: Ended): Transition {
  const { attempt } = ended.job
  const why = attempt <= 1 ? 'succeeded at the first run' : `succeeded at retry ${attempt - 1}`
  return transition(ended, 'succeeded', 0, { suspect: false }, { action: 'succeed', why })
}

function cancel(ended: Ended, why: string, change: Change = {}, record: DecisionRecord = {}): Transition {
  return transition(ended, 'cancelled', 0, change, { ...record, action: 'cancel', why })
}

function die(
  ended: Ended,
  reason: DeathReason,
  words: string,
  change: Change = {},
  record: DecisionRecord = {},
): Transition {
  const decision: Decision = { ...record, action: 'die', why: `died: ${words}` }
  return { ...transition(ended, 'dead', 0, change, decision), reason }
}

/** Every way back to waiting: none past the deadline, none for a job that somebody wants to stop. */
function wait(
  ended: Ended,
  delayMs: number,
  why: string,
  change: Change,
  record: DecisionRecord = {},
  action: 'wait' | 'retry' = 'wait',
): Transition {
  const { deadline, cancelRequested } = ended.job
  if (deadline !== undefined && ended.now + delayMs > deadline) {
    return die(ended, 'expired', `its next run would be after its deadline; otherwise ${why}`, change, record)
  }
  if (cancelRequested) return cancel(ended, `cancelled: it was asked to stop; otherwise ${why}`, change, record)
  return transition(ended, 'waiting', delayMs, change, { ...record, action, why })
}

function transition(
  { job, status }: Ended,
  to: Transition['to'],
  delayMs: number,
  change: Change,
  decision: Decision,
): Transition {
  const backoffMs = change.backoffMs ?? job.backoffMs
  const next = {
    status,
    to,
    delayMs,
    attemptBack: change.attemptBack ?? false,
    snoozes: change.snoozes ?? job.snoozes,
    releases: change.releases ?? job.releases,
    losses: change.losses ?? job.losses,
    strikes: change.strikes ?? job.strikes,
    suspect: change.suspect ?? job.suspect,
    decision,
  }
  return backoffMs === undefined ? next : { ...next, backoffMs }
}

function usedUp(maxRetries: number): string {
  if (maxRetries === 0) return 'its policy has no retries'
  return maxRetries === 1 ? 'its one retry is used' : `all ${maxRetries} retries used`
}

/** What the failure is called in a sentence: what a rule went by, or else what tells most about it. */
function subjectOf({ error, classification }: Extract<Outcome, { kind: 'failed' }>): string {
  const known = /^(?:built-in|handler): (.+)$/.exec(classification.rule)?.[1]
  return known ?? error.code ?? (error.status === undefined ? error.name : `HTTP ${error.status}`)
}

function originOf({ rule }: Classification): string {
  return /^(rule \d+|built-in|handler)\b/.exec(rule)?.[0] ?? rule
}

/** From outside: a wait that is no number is no wait. */
function wholeMs(ms: number): number {
  return ms > 0 ? Math.min(Math.round(ms), DURATION_MAX_MS) : 0
}
