import { maxRetriesOf, type StoredError } from '../../core/job/job.js'
import type { Outcome, Transition } from '../../core/job/lifecycle.js'
import type { Policy } from '../../core/policy/policy.js'
import { DELIVERIES } from '../../core/webhook/webhook.js'
import type { Claimed, Settled } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { EventHub } from '../client/events.js'
import { type Entry, nextAfter, scheduleIdOf } from '../schedules/schedule-cache.js'
import { type Attempt, eventJob } from './attempt.js'

/** A run whose end has been stored: one log line, and the events that somebody listens for. */
export interface Ended {
  readonly claimed: Claimed
  readonly policy: Policy
  readonly transition: Transition
  readonly settled: Settled
  readonly startedAt: number
  readonly finishedAt: number
  readonly error?: StoredError
  readonly result?: string
}

export function announce(given: Environment, ended: Ended): void {
  const { settled, transition, claimed } = ended
  // What becomes of a delivery is on the log, and raises no events.
  const env = claimed.queue === DELIVERIES ? { ...given, events: new EventHub(given.log) } : given
  const state = settled.status === 'settled' ? settled.state : transition.to
  switch (state) {
    case 'succeeded':
      announceSuccess(env, ended)
      break
    case 'dead':
      announceFailure(env, ended)
      announceDeath(env, ended)
      break
    case 'cancelled':
      announceCancel(env, ended)
      break
    case 'waiting':
      announceFailure(env, ended)
      if (transition.attemptBack) announceWait(env, ended)
      else announceRetry(env, ended)
      break
    case 'running':
      throw new Error('a settled job is not running')
  }
}

function announceSuccess({ log, events }: Environment, ended: Ended): void {
  const { claimed, policy, startedAt, finishedAt, result } = ended
  const durationMs = finishedAt - startedAt
  if (log.isLevelEnabled('debug')) {
    log.debug({ ...factsOf('job.succeeded', ended), durationMs }, 'job succeeded')
  }
  if (!events.hears('job.succeeded')) return
  const value: unknown = result === undefined ? undefined : JSON.parse(result)
  events.emit('job.succeeded', {
    job: eventJob(claimed, policy),
    durationMs,
    ...(result !== undefined && { result: value }),
  })
}

function announceFailure({ events }: Environment, { claimed, policy, transition, error }: Ended): void {
  if (!error || !events.hears('attempt.failed')) return
  const timedOut = transition.status === 'timed-out'
  events.emit('attempt.failed', { job: eventJob(claimed, policy), error, timedOut })
}

function announceRetry({ log, events, time }: Environment, ended: Ended): void {
  const { claimed, policy, transition, settled, error } = ended
  const retry = claimed.attempt
  const nextRunAt = new Date('runAt' in settled ? settled.runAt : time.now() + transition.delayMs).toISOString()
  const { delayMs } = transition
  log.warn({ ...factsOf('job.retrying', ended), retry, delayMs, nextRunAt, error: brief(error) }, 'job will be retried')
  if (events.hears('job.retrying')) {
    const { maxRetries } = policy
    const job = eventJob(claimed, policy)
    events.emit('job.retrying', { job, retry, maxRetries, delayMs, nextRunAt, ...(error && { error }) })
  }
}

/** Snoozed, released, deferred or lost with others: it runs again, and nothing was used up. */
function announceWait({ log }: Environment, ended: Ended): void {
  const { transition } = ended
  const { status, delayMs } = transition
  log.info({ ...factsOf(`job.${status}`, ended), delayMs, why: transition.decision.why }, 'job waits again')
}

function announceDeath(env: Environment, ended: Ended): void {
  const { events } = env
  const { claimed, policy, transition, error } = ended
  const reason = transition.reason!
  logDeath(env, ended)
  if (events.hears('job.dead')) {
    events.emit('job.dead', { job: eventJob(claimed, policy), reason, ...(error && { error }) })
  }
}

/** Of a schedule's job it is said when the next one comes; where this process does not know, after the store was asked. */
function logDeath({ log, calendar, time }: Environment, ended: Ended): void {
  const { reason, decision } = ended.transition
  const facts = { ...factsOf('job.dead', ended), reason, why: decision.why, error: brief(ended.error) }
  const scheduleId = scheduleIdOf(ended.claimed.key)
  const said = (found?: Pick<Entry, 'schedule' | 'ticks'>): void => {
    const nextAt = found && nextAfter(found.schedule, found.ticks, time.now())
    const nextOccurrenceAt = nextAt === undefined ? undefined : new Date(nextAt).toISOString()
    log.error({ ...facts, ...(found && { scheduleId, nextOccurrenceAt }) }, 'job died')
  }
  if (scheduleId === undefined) {
    said()
    return
  }
  const found = calendar.find(scheduleId)
  if (found instanceof Promise) found.then(said, () => said())
  else said(found)
}

function announceCancel({ log, events }: Environment, ended: Ended): void {
  log.info(factsOf('job.cancelled', ended), 'job was cancelled')
  if (events.hears('job.cancelled')) events.emit('job.cancelled', { job: eventJob(ended.claimed, ended.policy) })
}

function factsOf(event: string, { claimed, policy }: Ended): Record<string, unknown> {
  const { id: jobId, tenantId, name, queue, attempt, run, workerId } = claimed
  return { event, jobId, tenantId, name, queue, attempt, run, maxRetries: maxRetriesOf(claimed, policy), workerId }
}

/** Without the stack: the attempt's record has it. */
function brief(error: StoredError | undefined): Omit<StoredError, 'stack'> | undefined {
  if (!error) return undefined
  const { name, message, code, status } = error
  return { name, message, ...(code !== undefined && { code }), ...(status !== undefined && { status }) }
}

/** Nobody hears of successes, as is usual: then nothing is made to be told. */
const isUnheard = ({ log, events }: Environment): boolean =>
  !log.isLevelEnabled('debug') && !events.hears('job.succeeded')

export function announceEnd(
  env: Environment,
  attempt: Attempt,
  outcome: Outcome,
  transition: Transition,
  settled: Settled,
  finishedAt: number,
): void {
  const { claimed, policy, startedAt } = attempt
  if (outcome.kind === 'succeeded' && isUnheard(env)) return
  announce(env, {
    claimed,
    policy,
    transition,
    settled,
    startedAt,
    finishedAt,
    ...('error' in outcome && { error: outcome.error }),
    ...(outcome.kind === 'succeeded' && outcome.result !== undefined && { result: outcome.result }),
  })
}
