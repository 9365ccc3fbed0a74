import { expect } from 'vitest'
import { systemDice } from '../../../src/engine/time/system.js'
import type { PostgresStore } from '../../../src/store/postgres/store.js'
import type { Claimed, ClaimRequest, NewJob, Settlement, Store } from '../../../src/store/store.js'
import { openStore, postgresUrl, sql } from '../../support/postgres.js'

// Helpers for these tests. Times come from the database's clock, so the tests check effects, not times.

export function job(given: Partial<NewJob> = {}): NewJob {
  return {
    id: systemDice.id(1_700_000_000_000),
    name: 'send-mail',
    queue: 'default',
    priority: 5,
    delivery: 'at-least-once',
    payload: '{}',
    runAt: { delayMs: 0 },
    tags: [],
    ...given,
  }
}

export function jobs(count: number, given: Partial<NewJob> = {}): NewJob[] {
  return Array.from({ length: count }, () => job(given))
}

export function request(given: Partial<ClaimRequest> = {}): ClaimRequest {
  const token = systemDice.token()
  return { workerId: 'worker-1', token, queues: ['default'], limit: 100, leaseMs: 30_000, policyIds: {}, ...given }
}

/** A store whose server processes can be told from those of others; see `reported`. */
export async function openWatched(schema: string): Promise<PostgresStore> {
  return openStore({ schema, connection: { connectionString: await postgresUrl(), application_name: schema } })
}

/** Closes it. A server process reports its last statistics before it leaves the list of those that run. */
export async function reported(watched: PostgresStore, schema: string): Promise<void> {
  await watched.close()
  const left = () => sql('SELECT pid FROM pg_stat_activity WHERE application_name = $1', [schema])
  await expect.poll(left).toEqual([])
}

/** Every ended run: the rows among the attempts, and the plain successes stored on their jobs. */
export function runsIn(schema: string): string {
  const plain = `SELECT pk, run, 'succeeded', ran_at, finished_at FROM ${schema}.jobs WHERE ran_token IS NOT NULL`
  return `(SELECT job, run, status, started_at, finished_at FROM ${schema}.attempts UNION ALL ${plain})`
}

type Status = 'succeeded' | 'failed'

/** The settlement of a run that succeeded, or that is retried at once. */
export function settlement({ id, token, ...claimed }: Claimed, status: Status = 'succeeded'): Settlement {
  const { generation, run, attempt, workerId, queue, name, startedAt = 0, lane } = claimed
  const counters = { snoozes: 0, releases: 0, losses: 0, strikes: 0, suspect: false }
  const well = status === 'succeeded'
  const decision = well ? { action: 'succeed', why: 'it did' } : { action: 'retry', why: 'it failed' }
  return {
    lease: { id, token },
    generation,
    run,
    attempt,
    workerId,
    queue,
    name,
    ...(lane !== undefined && { lane }),
    startedAt,
    finishedAt: startedAt + 5,
    end: {
      kind: 'ended',
      transition: {
        status,
        to: well ? 'succeeded' : 'waiting',
        delayMs: 0,
        attemptBack: false,
        ...counters,
        decision: decision as { action: 'succeed' | 'retry'; why: string },
      },
      ...(!well && { error: { name: 'Error', message: 'boom' } }),
    },
  }
}

/** Claims and settles until no job is left, despite failures of the store. */
export async function drain(store: Store, limit: number, trouble: (error: unknown) => void): Promise<string[]> {
  const done: string[] = []
  for (;;) {
    const asked = request({ limit, workerId: systemDice.token() })
    const { jobs: claimed } = await again(() => store.claim(asked), trouble)
    if (claimed.length === 0) return done
    const ends = claimed.map(one => settlement(one))
    const answers = await again(() => store.settle(ends), trouble)
    for (const [index, { status }] of answers.entries()) if (status !== 'lost') done.push(claimed[index]!.id)
  }
}

/** Retries calls that are safe to retry, as the engine does. */
export async function again<T>(call: () => Promise<T>, trouble: (error: unknown) => void): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (code !== 'STORE_UNKNOWN' && code !== 'STORE_UNAVAILABLE') throw error
      trouble(error)
    }
  }
}

/** Expects that the ledger of every queue matches its rows, and that the records of each job are consistent. */
export async function expectBalance(store: Store): Promise<void> {
  const { queues, findings } = await store.audit()
  expect(findings).toEqual([])
  for (const { queue, ledger, rows, idSum } of queues) {
    const there = Object.values(rows).reduce((sum, count) => sum + count, 0)
    expect({ queue, jobs: ledger.enqueued - ledger.removed, ids: ledger.idSum }).toEqual({
      queue,
      jobs: there,
      ids: idSum,
    })
  }
}

export async function foldAll(store: Store): Promise<void> {
  while ((await store.fold(100)) > 0);
}
