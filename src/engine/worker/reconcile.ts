import { outcomeOf } from '../../core/failure/outcome.js'
import type { RunStatus, StoredError } from '../../core/job/job.js'
import type { Reconciliation } from '../../core/job/lifecycle.js'
import { formatMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { parseWith } from '../../core/values/standard-schema.js'
import type { Claimed } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'
import type { Environment } from '../client/environment.js'
import { factsOf } from '../client/job-facts.js'
import type { Attempt } from './attempt.js'
import type { Ending } from './finish.js'

/** A job that began and whose outcome is unknown, as `reconcile` receives it. */
export interface ReconcileJob<Payload = unknown> {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly tenantId: string | undefined
  readonly tags: readonly string[]
  /** `job.key`: the idempotency key that the handler sent to the other system. */
  readonly key: string
  readonly payload: Payload
  readonly createdAt: Date
  /** Aborts when an answer would come too late. */
  readonly signal: AbortSignal
}

/** The run whose outcome is unknown. */
export interface ReconcileAttempt {
  readonly generation: number
  readonly run: number
  readonly attempt: number
  readonly workerId: string
  readonly startedAt: Date
  /** `lost`: its worker vanished. `released`: its worker stopped. */
  readonly status: Extract<RunStatus, 'failed' | 'timed-out' | 'lost' | 'released' | 'deferred'>
  readonly error?: StoredError
}

/**
 * `done` (or `{ done: result }`): it was carried out. `not-done`: it was not and can no longer be, so that a retry is
 * safe. `ask`: a person has to check.
 */
export type ReconcileAnswer = 'done' | { readonly done: unknown } | 'not-done' | 'ask'

export type Reconcile<Payload> = (
  job: ReconcileJob<Payload>,
  attempt: ReconcileAttempt,
) => ReconcileAnswer | Promise<ReconcileAnswer>

/** The answer of `reconcile`, or that there was none. */
export interface Found {
  readonly found: Reconciliation
  readonly note: string
  /** JSON text. */
  readonly result?: string
}

/** The maximum time to wait for the answer of `reconcile`. */
export const RECONCILE_MS = 30_000

const NOTES: Readonly<Record<Reconciliation, string>> = {
  done: 'reconciled: it had been carried out',
  'not-done': 'reconciled: it had not been carried out',
  ask: 'reconcile asks for manual review',
  'no-answer': 'reconcile gave no answer',
}

type Doubt = Pick<ReconcileAttempt, 'startedAt' | 'status' | 'error'>

/** Asks how the run ended, and decides again with the answer. */
export async function reconcileEnding(env: Environment, attempt: Attempt, ending: Ending): Promise<Ending> {
  const { outcome } = ending
  const status = outcome.kind as ReconcileAttempt['status']
  const error = 'error' in outcome ? { ...outcome.error } : undefined
  const doubt = present({ startedAt: new Date(attempt.startedAt), status, error })
  return ending.reconciled(await reconcile(env, attempt.definition, attempt.claimed, doubt))
}

/** Calls the definition's `reconcile`. Never throws: a function that fails counts as one without an answer. */
export async function reconcile(
  env: Environment,
  definition: JobDefinition,
  claimed: Claimed,
  doubt: Doubt,
  controller = new AbortController(),
): Promise<Found> {
  const { signal } = controller
  const late = new ChronosError('TIMED_OUT', `reconcile took longer than ${formatMs(RECONCILE_MS)}`)
  const timer = env.clock.timer(RECONCILE_MS, () => controller.abort(late))
  const onClock = env.clock.outstanding?.handler()
  // Also rejects if the function ignores its signal.
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  try {
    const asking =
      onClock?.run(() => ask(definition, claimed, doubt, signal)) ?? ask(definition, claimed, doubt, signal)
    return foundOf(await Promise.race([asking, aborted]))
  } catch (error) {
    env.log.error({ ...factsOf('reconcile.failed', claimed), err: error }, 'reconcile gave no answer')
    return { found: 'no-answer', note: NOTES['no-answer'] }
  } finally {
    onClock?.end()
    timer.cancel()
  }
}

async function ask(
  { reconcile: hook, schema }: JobDefinition,
  claimed: Claimed,
  doubt: Doubt,
  signal: AbortSignal,
): Promise<ReconcileAnswer> {
  const { id, name, queue, tenantId, tags, key = id, createdAt, generation, run, attempt, workerId } = claimed
  const json: unknown = JSON.parse(claimed.payload)
  const payload = schema ? await parseWith(schema, json, `payload of "${name}"`) : json
  const job = { id, name, queue, tenantId, tags, key, payload, createdAt: new Date(createdAt), signal }
  return hook!(job as ReconcileJob<never>, { generation, run, attempt, workerId, ...doubt })
}

function foundOf(answer: ReconcileAnswer): Found {
  if (answer === 'done' || answer === 'not-done' || answer === 'ask') return { found: answer, note: NOTES[answer] }
  if (typeof answer !== 'object' || answer === null || !('done' in answer)) {
    const expected = 'expected "done", { done: result }, "not-done" or "ask"'
    throw new ChronosError('INVALID_OPTION', `reconcile: ${expected}, got ${shown(answer)}`)
  }
  const kept = outcomeOf(answer.done)
  if (kept.kind !== 'succeeded') return { found: 'done', note: NOTES.done }
  const note = kept.note === undefined ? NOTES.done : `${NOTES.done}; ${kept.note}`
  return { found: 'done', note, ...(kept.result !== undefined && { result: kept.result }) }
}
