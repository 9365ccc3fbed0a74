import { toPayload } from '../../core/job/payload.js'
import { wait } from '../../core/values/clock.js'
import { ChronosError } from '../../core/values/error.js'
import type { EffectStatus, Lease, Store } from '../../store/store.js'
import { isOutage, isRepeatable } from '../client/connection.js'
import type { Environment } from '../client/environment.js'
import { backOffMs } from '../time/loop.js'
import type { Attempt } from './attempt.js'

const TRIES_MAX = 5
/** An answer that took less than this was not delayed by a suspension of the process: no lease is shorter. */
const PROMPT_MS = 1_000
/** JSON has no undefined; the result of an effect that returns nothing is stored as this. */
const NOTHING = 'null'

/**
 * `job.once`: records that the effect begins, runs it, records its result. The effect runs at least once, and not again
 * after its result is recorded. After a crash between the effect and its record, it is unknown whether the effect
 * happened.
 */
export async function runOnce<T>(
  env: Environment,
  attempt: Attempt,
  name: string,
  effect: () => T | Promise<T>,
  whenUnknown: 'run' | 'fail',
): Promise<T> {
  const { lease } = attempt
  const before = await begin(env, attempt, name)
  if (before.status === 'done') return JSON.parse(before.result) as T
  if (before.status === 'lost') throw leaseLost(lease, name)
  if (before.status === 'begun' && whenUnknown === 'fail') {
    throw new ChronosError(
      'EFFECT_UNKNOWN',
      `job.once("${name}"): an earlier run of job ${lease.id} began it and did not record its result, so it may have happened; ` +
        'check manually, or pass { whenUnknown: "run" } if repeating it is safe',
      { details: { jobId: lease.id, effect: name } },
    )
  }
  const value = await effect()
  const result = value === undefined ? NOTHING : toPayload(value, `result of job.once("${name}")`)
  const end = (store: Store): Promise<'done' | 'lost'> => store.endEffect(lease, name, result)
  const recorded = await repeated(env, end, error => mayWait(attempt, error))
  if (recorded === 'lost') throw leaseLost(lease, name)
  return value
}

/**
 * The run may end while the answer is under way, or the process may be suspended. Then another worker may have the job by
 * now, and may have recorded the effect. After a suspension the store is asked again.
 */
async function begin(env: Environment, attempt: Attempt, name: string): Promise<EffectStatus> {
  const ask = (store: Store): Promise<EffectStatus> => store.beginEffect(attempt.lease, name)
  const mayBegin = (error: unknown): boolean => mayWait(attempt, error) && attempt.interruption === undefined
  for (;;) {
    const sentAt = env.clock.now()
    const status = await repeated(env, ask, mayBegin)
    const now = env.clock.now()
    if (attempt.over) return { status: 'lost' }
    if (now < attempt.leaseUntil || now - sentAt < PROMPT_MS || status.status === 'lost') return status
    if (attempt.interruption !== undefined) return { status: 'lost' }
  }
}

/** An outage of the store is awaited as long as the run holds its lease, as for the outcome of a run. */
function mayWait(attempt: Attempt, error: unknown): boolean {
  return !attempt.over && (isRepeatable(error) || isOutage(error))
}

/** Repeats a store call that failed or got no answer. Use it only for calls that are safe to repeat. */
export async function repeated<T>(
  env: Environment,
  call: (store: Store) => Promise<T>,
  mayRepeat = (error: unknown, tries: number): boolean => isRepeatable(error) && tries < TRIES_MAX,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call(env.connection.opened ?? (await env.connection.store()))
    } catch (error) {
      if (!mayRepeat(error, tries)) throw error
      await wait(env.clock, backOffMs(tries, env.dice))
    }
  }
}

function leaseLost(lease: Lease, name: string): ChronosError {
  return new ChronosError('LEASE_LOST', `job.once("${name}"): job ${lease.id} lost its lease; another worker has it`, {
    details: { jobId: lease.id },
  })
}
