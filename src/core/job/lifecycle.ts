import { isFinal } from '../failure/classify.js'
import { planRetry } from '../policy/retry.js'
import { DURATION_MAX_MS, formatMs, toMs } from '../values/duration.js'
import { type DeathReason, FAILED, type JobFacts, needsBegin, type RunStatus } from './job.js'
import {
  deathSentence,
  failureWords,
  retrySentence,
  subjectOf,
  successSentence,
  TIMED_OUT,
  usedUp,
} from './sentence.js'
import type { Decision, DecisionRecord, Failure, Outcome, Reconciliation, Transition } from './transition.js'

export type {
  Classification,
  Decision,
  DecisionRecord,
  Failure,
  Outcome,
  Reconciliation,
  Transition,
} from './transition.js'

/** How often a run may end without counting before it counts after all, so that no job loops for ever. */
export const SNOOZES_MAX = 1_000
export const RELEASES_MAX = 20
export const LOSSES_MAX = 10
/** How often a job may be lost while it ran alone before it is taken to be what crashes its workers. */
export const STRIKES_MAX = 3

/** A run that has ended, before its transition is decided. */
interface Ended {
  readonly job: JobFacts
  readonly status: RunStatus
  readonly now: number
  readonly random: () => number
  readonly reconciled: Reconciliation | undefined
}

type Change = Partial<
  Pick<Transition, 'attemptBack' | 'snoozes' | 'releases' | 'losses' | 'strikes' | 'suspect' | 'backoffMs'>
> & { readonly hasRun?: false }

/**
 * Decides what a job becomes after a run; this is the specification of the product, and `test/core/job/decide.test.ts`
 * is its table. It changes nothing: the caller passes the transition to the store.
 */
export function decide(
  job: JobFacts,
  outcome: Outcome,
  now: number,
  random: () => number,
  reconciled?: Reconciliation,
): Transition {
  const ended: Ended = { job, status: outcome.kind, now, random, reconciled }
  if (outcome.kind === 'succeeded') return succeed(ended)
  if (outcome.kind === 'cancelled') return cancel(ended, 'cancelled: it was asked to stop')
  return job.delivery === 'at-most-once' ? decideOnce(ended, outcome) : decideAgain(ended, outcome)
}

type Unfinished = Exclude<Outcome, { kind: 'succeeded' | 'cancelled' }>

/** For an at-most-once job, every outcome after `begin` is final. */
function decideOnce(ended: Ended, outcome: Unfinished): Transition {
  switch (outcome.kind) {
    case 'failed': {
      const { error, classification, maybeExecuted } = outcome
      const { kind, rule } = classification
      const subject = subjectOf(error, classification)
      if (maybeExecuted === true) return unknownOutcome(ended, `${subject} leaves the outcome unknown`, outcome)
      if (maybeExecuted === false && ended.job.retryUnsent) {
        return anotherTry(ended, outcome, `${subject}, so the request was never sent`)
      }
      const words = `${subject}, and an at-most-once job is not retried`
      return die(ended, 'failed', words, {}, { kind, rule })
    }
    case 'snoozed':
      return die(ended, 'failed', 'it asked to run again later, which an at-most-once job cannot do')
    case 'timed-out':
      return unknownOutcome(ended, TIMED_OUT, outcome)
    case 'released':
      return ended.job.begun ? unknownOutcome(ended, outcome.note) : neverRan(ended, outcome.note)
    case 'lost':
      return ended.job.begun ? unknownOutcome(ended, 'its worker was lost') : neverRan(ended, 'its worker was lost')
    case 'deferred':
      return ended.job.begun ? unknownOutcome(ended, outcome.note) : defer(ended, outcome)
  }
}

function decideAgain(ended: Ended, outcome: Unfinished): Transition {
  switch (outcome.kind) {
    case 'failed':
      return afterFailure(ended, failureOf(outcome, failureWords(outcome.error, outcome.classification)))
    case 'timed-out':
      return afterFailure(ended, failureOf(outcome, TIMED_OUT))
    case 'snoozed':
      return snooze(ended, outcome)
    case 'released':
      return release(ended, outcome.note)
    case 'deferred':
      return defer(ended, outcome)
    case 'lost':
      return lose(ended, outcome)
  }
}

type Failed = Extract<Outcome, { kind: 'failed' | 'timed-out' }>

function failureOf(outcome: Failed, words: string): Failure {
  const custom = outcome.customDelayMs === undefined ? {} : { customDelayMs: outcome.customDelayMs }
  if (outcome.kind === 'timed-out') return { words, kind: 'transient', rule: 'timeout', ...custom }
  const { classification, retryAfterMs } = outcome
  return { words, ...classification, ...custom, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

function afterFailure(ended: Ended, failure: Failure, change: Change = {}): Transition {
  const { job, random, reconciled } = ended
  const { policy, attempt: retry } = job
  const { maxRetries } = policy
  const record: DecisionRecord = { kind: failure.kind, rule: failure.rule, retry, maxRetries }
  if (reconciled !== undefined) record.reconciled = reconciled
  if (isFinal(failure.kind)) return die(ended, failure.kind, failure.words, change, record)
  if (retry > maxRetries) return die(ended, 'exhausted', usedUp(maxRetries), change, record)

  const plan = planRetry(policy, retry, failure, job.backoffMs, random, record)
  if ('stop' in plan) return die(ended, 'exhausted', plan.stop, change, record)
  const { delayMs, backoffMs, remark } = plan
  record.delayMs = delayMs
  if (isTooOld(ended, delayMs)) return die(ended, 'too-old', TOO_OLD, change, record)
  const why = retrySentence(record, failure.words, remark)
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
  if (!job.begun && needsBegin(job, job.policy)) return neverRan(ended, note)
  const { maxRetries, crashes } = job.policy
  if (maxRetries === 0 && crashes !== 'forgive') {
    return die(ended, 'exhausted', `${note} after the run had started, and a job without retries is not started again`)
  }
  const releases = job.releases + 1
  if (releases <= RELEASES_MAX) return wait(ended, 0, `handed back: ${note}`, { attemptBack: true, releases })
  if (job.attempt > maxRetries) return die(ended, 'exhausted', usedUp(maxRetries), { releases })
  return wait(ended, 0, `handed back for the ${releases}th time, which counts: ${note}`, { releases })
}

function defer(ended: Ended, { delayMs: asked, note, by }: Extract<Outcome, { kind: 'deferred' }>): Transition {
  const delayMs = wholeMs(asked)
  const record: DecisionRecord = {
    delayMs,
    deferredBy: by,
    ...(ended.job.dependency !== undefined && { dependency: ended.job.dependency }),
  }
  if (isTooOld(ended, delayMs)) return die(ended, 'too-old', TOO_OLD, { attemptBack: true }, record)
  return wait(ended, delayMs, `deferred for ${formatMs(delayMs)}: ${note}`, NOT_RUN, record)
}

const TOO_OLD = 'its next run would be later than maxElapsed allows'

function isTooOld({ job, now }: Ended, delayMs: number): boolean {
  const { maxElapsed } = job.policy
  return maxElapsed !== undefined && now + delayMs > (job.firstStartedAt ?? now) + toMs(maxElapsed, 'maxElapsed')
}

/** Whether the handler of a lost run certainly did not start. */
export function neverBegan(job: JobFacts, hadHandler: boolean | undefined): boolean {
  return hadHandler === false || (!job.begun && needsBegin(job, job.policy))
}

/** A lost run counts, unless the policy forgives crashes. A job that was alone in its process also gets a strike. */
function lose(ended: Ended, { alone, hadHandler }: Extract<Outcome, { kind: 'lost' }>): Transition {
  const { job } = ended
  if (neverBegan(job, hadHandler)) return neverRan(ended, 'its worker was lost')
  const failure = { kind: 'transient', rule: 'lost' } as const
  if (alone) {
    const change = { strikes: job.strikes + 1, suspect: true }
    const words = `its worker was lost while it ran alone (strike ${change.strikes} of ${STRIKES_MAX})`
    if (change.strikes >= STRIKES_MAX) return die(ended, 'poison', words, change, failure)
    return afterFailure(ended, { ...failure, words }, change)
  }
  const change = { losses: job.losses + 1, suspect: true }
  if (job.policy.crashes !== 'forgive') {
    return afterFailure(ended, { ...failure, words: 'its worker was lost with other jobs' }, change)
  }
  if (change.losses <= LOSSES_MAX) {
    return wait(ended, 0, 'its worker was lost with other jobs, for an unknown reason', {
      ...change,
      attemptBack: true,
    })
  }
  const words = `its worker was lost for the ${change.losses}th time, which counts`
  return afterFailure(ended, { ...failure, words }, change)
}

/** The handler does nothing before `begin`, so a run that did not get there does not count. */
function neverRan(ended: Ended, note: string): Transition {
  return wait(ended, 0, `waits again, because it had not begun: ${note}`, NOT_RUN)
}

/** The handler did not start. */
const NOT_RUN: Change = { attemptBack: true, hasRun: false }

/** The outcome of the run is unknown. `reconcile` decides if there is one; otherwise an operator does. */
function unknownOutcome(ended: Ended, words: string, outcome?: Failed): Transition {
  const { reconciled } = ended
  const record: DecisionRecord = {
    ...(outcome?.kind === 'failed' && { kind: outcome.classification.kind, rule: outcome.classification.rule }),
    ...(reconciled !== undefined && { reconciled }),
  }
  switch (reconciled) {
    case 'done': {
      const why = `succeeded: ${words}, and reconcile found it done`
      const done: Ended = { ...ended, status: 'succeeded' }
      return transition(done, 'succeeded', 0, { suspect: false }, { ...record, action: 'succeed', why })
    }
    case 'not-done':
      return anotherTry(ended, outcome, `${words}, and reconcile found it not done`)
    case 'ask':
      return die(ended, 'unknown-outcome', `${words}; reconcile asks for manual review`, {}, record)
    default: {
      const silent = reconciled === 'no-answer' ? ', reconcile gave no answer' : ''
      const unsure = 'it may have been carried out, and is not run twice'
      return die(ended, 'unknown-outcome', `${words}${silent}; ${unsure}`, {}, record)
    }
  }
}

/** An at-most-once run that certainly did not happen: the policy decides, and every outcome is a known failure. */
function anotherTry(ended: Ended, outcome: Failed | undefined, words: string): Transition {
  const lost: Failure = { words, kind: 'transient', rule: ended.status }
  const next = afterFailure(ended, outcome ? failureOf(outcome, words) : lost)
  return next.reason === undefined || next.reason === 'expired' ? next : { ...next, reason: 'failed' }
}

function succeed(ended: Ended): Transition {
  const why = successSentence(ended.job.attempt)
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
  const decision: Decision = { ...record, action: 'die', why: deathSentence(words) }
  return { ...transition(ended, 'dead', 0, change, decision), reason }
}

/** Every transition back to waiting, except past the deadline or for a job that was asked to stop. */
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
  { job, status, now }: Ended,
  to: Transition['to'],
  delayMs: number,
  change: Change,
  decision: Decision,
): Transition {
  const backoffMs = change.backoffMs ?? job.backoffMs
  const failedAt = change.hasRun === false ? job.failedAt : FAILED.has(status) ? now : undefined
  const next: { -readonly [Field in keyof Transition]: Transition[Field] } = {
    status,
    to,
    delayMs,
    attemptBack: change.attemptBack ?? false,
    snoozes: change.snoozes ?? job.snoozes,
    releases: change.releases ?? job.releases,
    losses: change.losses ?? job.losses,
    strikes: change.strikes ?? job.strikes,
    suspect: change.suspect ?? job.suspect,
    decision: change.attemptBack ? { ...decision, free: true as const } : decision,
  }
  if (backoffMs !== undefined) next.backoffMs = backoffMs
  if (failedAt !== undefined && to === 'waiting') next.failedAt = failedAt
  return next
}

/** The value comes from outside: a wait that is not a number counts as no wait. */
function wholeMs(ms: number): number {
  return ms > 0 ? Math.min(Math.round(ms), DURATION_MAX_MS) : 0
}
