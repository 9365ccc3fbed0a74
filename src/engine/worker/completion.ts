import { outcomeOf } from '../../core/failure/outcome.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import { wait } from '../../core/values/clock.js'
import { ChronosError } from '../../core/values/error.js'
import type { Store } from '../../store/store.js'
import { isOutage, isRepeatable } from '../client/connection.js'
import type { Environment } from '../client/environment.js'
import { factsOf } from '../client/job-facts.js'
import { backOffMs } from '../time/loop.js'
import type { Attempt } from './attempt.js'
import { decideEnd, type Ending } from './finish.js'

/** A success that a handler wrote in its own transaction. It counts only if that transaction commits. */
export interface Completion {
  readonly ending: Ending
  /** The commit was seen, so there is no lease left to renew. */
  committed: boolean
}

type Success = Extract<Outcome, { kind: 'succeeded' }>

/** The result of the transaction. `open`: it has not ended, and the worker has stopped waiting for it. */
export type Fate = 'committed' | 'rolled-back' | 'lost' | 'open'

/** How long to wait for the transaction to end after the handler has returned. */
const OPEN_MAX_MS = 5_000

function successOf(result: unknown): Success {
  const outcome = outcomeOf(result)
  if (outcome.kind === 'succeeded') return outcome
  throw new ChronosError(
    'INVALID_OPTION',
    'job.complete: a snooze is not a result; return it from the handler and do not complete the job',
  )
}

/** Stores the log lines and the outcome in the caller's transaction; a rollback discards both. */
export async function complete(env: Environment, attempt: Attempt, tx: unknown, result: unknown): Promise<void> {
  const { connection, time } = env
  const ending = decideEnd(env, attempt, successOf(result), Math.max(attempt.startedAt, time.now()))
  // Set before anything is sent: if the write fails, the handler's return value must not count as a success.
  attempt.completion = { ending, committed: false }
  const store = connection.opened ?? (await connection.store())
  const report = attempt.report()
  if (report) await store.report([report], tx)
  const [settled] = await store.settle([ending.settlement], tx)
  if (settled!.status !== 'lost') return
  const { id, run } = attempt
  throw new ChronosError(
    'LEASE_LOST',
    `job.complete: run ${run} of job ${id} lost its lease; roll back, another worker has the job`,
    { details: { jobId: id, run } },
  )
}

/** The result of the transaction: the store is asked until it answers or the worker stops waiting. */
export async function completionFate(env: Environment, attempt: Attempt, leaseMs: number): Promise<Fate> {
  const { connection, clock, dice, log } = env
  const since = clock.now()
  for (let looks = 0; ; looks++) {
    try {
      const fate = await look(connection.opened ?? (await connection.store()), attempt, leaseMs)
      if (fate !== 'open' || clock.now() - since >= OPEN_MAX_MS) return fate
    } catch (error) {
      if (attempt.over || !(isRepeatable(error) || isOutage(error))) {
        log.error({ ...factsOf('complete.unknown', attempt.claimed), err: error }, UNKNOWN)
        return 'lost'
      }
    }
    await wait(clock, backOffMs(looks, dice))
  }
}

const UNKNOWN = 'failed to find out whether job.complete committed, leaving the job to its lease'

async function look(store: Store, attempt: Attempt, leaseMs: number): Promise<Fate> {
  const ended = await endOf(store, attempt)
  if (ended) return ended
  const [status] = await store.extend([attempt.lease], leaseMs)
  if (status === 'locked') return 'open'
  // The run may have ended between the two queries.
  return status === 'lost' ? ((await endOf(store, attempt)) ?? 'lost') : 'rolled-back'
}

/** A run has exactly one record, which is written when it ends. */
async function endOf(store: Store, { id, run }: Attempt): Promise<Fate | undefined> {
  const { data } = await store.history(id, { limit: 1 })
  if (data[0] === undefined || data[0].run < run) return undefined
  return data[0].run === run && data[0].status === 'succeeded' ? 'committed' : 'lost'
}

export function rolledBack({ id, run }: Attempt): ChronosError {
  return new ChronosError(
    'ROLLED_BACK',
    `job.complete: its transaction did not commit, so job ${id} is not done; let the handler throw what made it roll back`,
    { details: { jobId: id, run } },
  )
}

/** The job has succeeded whatever its handler does after the commit, but a later failure is worth a log line. */
export function warnOfLateFailure({ log }: Environment, { claimed }: Attempt, outcome: Outcome): void {
  const error = 'error' in outcome ? outcome.error : undefined
  const fields = { ...factsOf('handler.failed-after-commit', claimed), outcome: outcome.kind, error }
  log.warn(fields, 'handler failed after its job was committed')
}
