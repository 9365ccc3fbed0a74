import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PostgresStore } from '../../../../src/store/postgres/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { job, jobs, openWatched, reported, request, settlement } from '../bench.js'

afterAll(dropSchemas)

let schema: string
let store: PostgresStore

beforeEach(async () => {
  schema = freshSchema()
  store = await openStore({ schema })
  await store.migrate()
})

afterEach(() => store.close())

const idsOf = (all: readonly { id: string }[]) => all.map(({ id }) => id)

describe('claim', () => {
  it('reads neither later jobs of a higher priority nor ended jobs', async () => {
    await store.enqueue(jobs(5000, { priority: 9, runAt: { delayMs: 3_600_000 } }))
    await store.enqueue(jobs(1000, { priority: 8 }))
    const worker = await openWatched(schema)
    for (let round = 0; round < 2; round++) {
      const { jobs: claimed } = await worker.claim(request({ limit: 500 }))
      await worker.settle(claimed.map(one => settlement(one)))
    }
    await reported(worker, schema)
    const due = jobs(20, { priority: 1 })
    await store.enqueue(due)
    // A transaction of another test that began earlier keeps VACUUM from removing the entries of jobs that have run.
    await expect.poll(deadAfterVacuum, { timeout: 60_000 }).toBe(0)
    const before = await entriesRead()
    expect(before).toBeGreaterThanOrEqual(1000)
    const other = await openWatched(schema)
    expect(idsOf((await other.claim(request({ limit: 5 }))).jobs)).toEqual(idsOf(due.slice(0, 5)))
    await reported(other, schema)
    const after = await entriesRead()
    expect(after).toBeGreaterThan(before)
    expect(after - before).toBeLessThan(100)
  }, 120_000)

  async function deadAfterVacuum(): Promise<number> {
    await sql(`VACUUM ANALYZE ${schema}.jobs`)
    const [row] = await sql<{ dead: string }>(
      `SELECT n_dead_tup AS dead FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'jobs'`,
      [schema],
    )
    return Number(row!.dead)
  }

  async function entriesRead(): Promise<number> {
    const [row] = await sql<{ read: string }>(
      `SELECT sum(idx_tup_read) AS read FROM pg_stat_user_indexes
       WHERE schemaname = $1 AND indexrelname = 'jobs_waiting'`,
      [schema],
    )
    return Number(row!.read)
  }

  it('continues where the last one ended, and finds earlier jobs when it comes up short', async () => {
    const other = await openStore({ schema })
    const line = jobs(6)
    await store.enqueue(line)
    expect(idsOf((await store.claim(request({ limit: 2 }))).jobs)).toEqual(idsOf(line.slice(0, 2)))
    const earlier = job({ runAt: { at: 1 } })
    await other.enqueue([earlier])
    const rest = (await store.claim(request())).jobs
    expect(idsOf(rest)).toEqual([earlier.id, ...idsOf(line.slice(2))])
    expect((await store.claim(request())).jobs).toEqual([])
    await other.close()
  })

  it('finds urgent jobs at once, regardless of where the last one ended', async () => {
    const other = await openStore({ schema })
    await store.enqueue(jobs(10))
    await store.claim(request({ limit: 2 }))
    const urgent = job({ priority: 9 })
    await other.enqueue([urgent])
    expect(idsOf((await store.claim(request({ limit: 1 }))).jobs)).toEqual([urgent.id])
    await other.close()
  })

  it('returns all jobs of a claim in two parts when it is repeated', async () => {
    await store.enqueue(jobs(3))
    await store.claim(request({ limit: 1 }))
    const other = await openStore({ schema })
    await other.enqueue([job({ runAt: { at: 1 } })])
    const asked = request({ limit: 10 })
    const first = await store.claim(asked)
    expect(first.jobs).toHaveLength(3)
    expect(idsOf((await store.claim(asked)).jobs)).toEqual(idsOf(first.jobs))
    await other.close()
  })
})

describe('health', () => {
  it('reports the causes of a slow queue', async () => {
    const keeper = new pg.Client(await postgresUrl())
    await keeper.connect()
    await keeper.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1')
    await store.enqueue([job({ runAt: { at: 1 } }), job({ queue: 'b', runAt: { delayMs: 60_000 } })])
    await store.enqueue([job({ queue: 'c', priority: 9 })])
    await store.claim(request({ queues: ['c'], leaseMs: -1000 }))
    const health = await store.health()
    expect(health).toMatchObject({ settings: { synchronous_commit: 'on' }, synchronousStandbys: '', expiredLeases: 1 })
    expect(health.oldestDueMs).toBeGreaterThan(1e12)
    expect(health.oldestSnapshotMs).toBeGreaterThanOrEqual(0)
    expect(health.deadRows).toBeGreaterThanOrEqual(0)
    expect(health.deltas).toBeGreaterThan(0)
    expect(health.oldestDeltaMs).toBeGreaterThanOrEqual(0)
    await store.fold(100)
    expect(await store.health()).toMatchObject({ deltas: 0 })
    await keeper.query('COMMIT')
    await keeper.end()
  })
})
