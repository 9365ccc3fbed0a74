import { NOT_KEPT } from '../../core/failure/outcome.js'
import { eventJob } from '../../core/job/event.js'
import { maxRetriesOf, type StoredError } from '../../core/job/job.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import { isInternal } from '../../core/queue/internal.js'
import { present } from '../../core/values/present.js'
import type { Settled } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { EventHub } from '../client/events.js'
import { factsOf as factsOfJob } from '../client/job-facts.js'
import { nextAfter, type TimedSchedule } from '../schedules/schedule-cache.js'
import type { Ending } from './finish.js'

/** Logs the stored end of a run in one line, and emits the events that have a listener. */
export function announce(given: Environment, ending: Ending, settled: Settled): void {
  const { run, outcome, transition } = ending
  if (outcome.kind === 'succeeded' && outcome.note?.includes(NOT_KEPT))
    given.log.warn({ ...factsOf('result.dropped', ending), why: outcome.note }, 'result of a job was not kept')
  // Successes usually have no listener; then no event is built.
  if (outcome.kind === 'succeeded' && !hearsSuccess(given)) return
  // Deliveries are logged and raise no events: an event could cause another delivery.
  const env = isInternal(run.claimed.queue) ? { ...given, events: new EventHub(given.log) } : given
  const state = settled.status === 'settled' ? settled.state : transition.to
  switch (state) {
    case 'succeeded':
      announceSuccess(env, ending)
      break
    case 'dead':
      announceFailure(env, ending)
      announceDeath(env, ending)
      break
    case 'cancelled':
      announceCancel(env, ending)
      break
    case 'waiting':
      announceFailure(env, ending)
      if (transition.attemptBack) announceWait(env, ending)
      else announceRetry(env, ending, settled)
      break
    case 'running':
      throw new Error('a settled job is not running')
  }
}

function hearsSuccess({ log, events }: Environment): boolean {
  return log.isLevelEnabled('debug') || events.hears('job.succeeded')
}

function announceSuccess({ log, events }: Environment, ending: Ending): void {
  const { claimed, policy, startedAt } = ending.run
  const { outcome } = ending
  const durationMs = ending.finishedAt - startedAt
  if (log.isLevelEnabled('debug')) {
    log.debug({ ...factsOf('job.succeeded', ending), durationMs }, 'job succeeded')
  }
  if (!events.hears('job.succeeded')) return
  const json = outcome.kind === 'succeeded' ? outcome.result : undefined
  const result = json === undefined ? {} : { result: JSON.parse(json) as unknown }
  events.emit('job.succeeded', { job: eventJob(claimed, policy), durationMs, ...result })
}

function announceFailure({ events }: Environment, { run, outcome, transition }: Ending): void {
  if (!events.hears('attempt.failed')) return
  const error = heardError(outcome)
  if (!error) return
  const timedOut = transition.status === 'timed-out'
  events.emit('attempt.failed', { job: eventJob(run.claimed, run.policy), error, timedOut })
}

function announceRetry({ log, events, time }: Environment, ending: Ending, settled: Settled): void {
  const { claimed, policy } = ending.run
  const error = errorOf(ending.outcome)
  const retry = claimed.attempt
  const { delayMs } = ending.transition
  const nextRunAt = new Date('runAt' in settled ? settled.runAt : time.now() + delayMs).toISOString()
  // Every failed run is a line: its fields are assigned, because a spread takes several times as long.
  const facts = factsOf('job.retrying', ending)
  facts['retry'] = retry
  facts['delayMs'] = delayMs
  facts['nextRunAt'] = nextRunAt
  facts['error'] = withoutStack(error)
  log.warn(facts, 'job failed, scheduling retry')
  if (events.hears('job.retrying')) {
    const { maxRetries } = policy
    const job = eventJob(claimed, policy)
    const heard = heardError(ending.outcome)
    events.emit('job.retrying', present({ job, retry, maxRetries, delayMs, nextRunAt, error: heard }))
  }
}

/** The job was snoozed, released, deferred or lost together with others: it runs again and has used up no attempt. */
function announceWait({ log }: Environment, ending: Ending): void {
  const { status, delayMs, decision } = ending.transition
  log.info({ ...factsOf(`job.${status}`, ending), delayMs, why: decision.why }, 'job returned to the queue')
}

function announceDeath(env: Environment, ending: Ending): void {
  const { events } = env
  const { claimed, policy } = ending.run
  const reason = ending.transition.reason!
  logDeath(env, ending)
  if (events.hears('job.dead')) {
    events.emit('job.dead', present({ job: eventJob(claimed, policy), reason, error: heardError(ending.outcome) }))
  }
}

/** The line of an occurrence also names the time of the next one, which may have to be read from the store. */
function logDeath({ log, scheduleCache, time }: Environment, ending: Ending): void {
  const { reason, decision } = ending.transition
  const error = withoutStack(errorOf(ending.outcome))
  const facts = { ...factsOf('job.dead', ending), reason, why: decision.why, error }
  const { scheduleId } = ending.run.claimed
  const write = (found?: TimedSchedule): void => {
    const nextAt = found && (found.schedule.queuedTick ?? nextAfter(found.schedule, found.ticks, time.now()))
    const nextOccurrenceAt = nextAt === undefined ? undefined : new Date(nextAt).toISOString()
    log.error({ ...facts, nextOccurrenceAt }, 'job failed, moved to dead letters')
  }
  if (scheduleId === undefined) {
    write()
    return
  }
  const found = scheduleCache.find(scheduleId)
  if (found instanceof Promise) found.then(write, () => write())
  else write(found)
}

function announceCancel({ log, events }: Environment, ending: Ending): void {
  const { claimed, policy } = ending.run
  log.info(factsOf('job.cancelled', ending), 'job cancelled')
  if (events.hears('job.cancelled')) events.emit('job.cancelled', { job: eventJob(claimed, policy) })
}

function factsOf(event: string, { run: { claimed, policy } }: Ending): Record<string, unknown> {
  const facts = factsOfJob(event, claimed)
  facts['maxRetries'] = maxRetriesOf(claimed, policy)
  facts['workerId'] = claimed.workerId
  return facts
}

function errorOf(outcome: Outcome): StoredError | undefined {
  return 'error' in outcome ? outcome.error : undefined
}

/** The error of an event, as a copy: equal errors share one object, and a listener may change what it gets. */
function heardError(outcome: Outcome): StoredError | undefined {
  const error = errorOf(outcome)
  return error && { ...error }
}

/** The attempt's record keeps the stack. */
function withoutStack(error: StoredError | undefined): Omit<StoredError, 'stack'> | undefined {
  if (!error) return undefined
  const { name, message, code, status } = error
  const kept: { -readonly [Field in keyof StoredError]: StoredError[Field] } = { name, message }
  if (code !== undefined) kept.code = code
  if (status !== undefined) kept.status = status
  return kept
}
