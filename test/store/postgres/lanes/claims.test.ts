import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { QueueLimits } from '../../../../src/core/partition/limits.js'
import type { Claim, Store } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { job, jobs, request, settlement } from '../bench.js'

afterAll(dropSchemas)

let schema: string
let store: Store
let others: Store[]
let client: pg.Client

beforeEach(async () => {
  schema = freshSchema()
  store = await openStore({ schema })
  await store.migrate()
  others = await Promise.all([1, 2, 3].map(() => openStore({ schema })))
  client = new pg.Client(await postgresUrl())
  await client.connect()
})

afterEach(async () => {
  await client.end()
  await Promise.all([store, ...others].map(each => each.close()))
})

const setLimits = (limits: Omit<QueueLimits, 'from'> | null) =>
  store.setQueue('default', { limits: limits && { ...limits, from: 'operator' } })
const claim = (limit = 100, from: Store = store): Promise<Claim> => from.claim(request({ limit }))
const lanes = async (limit?: number, from?: Store) => (await claim(limit, from)).jobs.map(({ lane }) => lane)

/** Resolves when a transaction waits for the lock of a row. */
async function untilBlocked(): Promise<void> {
  await expect
    .poll(() => sql(`SELECT 1 FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')`))
    .not.toHaveLength(0)
}

describe('claims of one queue at the same time', () => {
  it('never start more jobs than the limits of the partitions and of the queue allow', async () => {
    await setLimits({ limit: { concurrency: 7 }, partitions: { concurrency: 2 } })
    const names = ['a', 'b', 'c', 'd', 'e']
    await store.enqueue(names.flatMap(partition => jobs(30, { partition })))
    let most = { lane: 0, all: 0 }
    let done = 0
    const work = async (one: Store) => {
      while (done < 150) {
        const { jobs: claimed } = await one.claim(request({ limit: 5 }))
        const counts = await sql<{ n: number }>(
          `SELECT count(*)::int AS n FROM ${schema}.jobs WHERE state = 'running' GROUP BY lane`,
        )
        const all = counts.reduce((sum, { n }) => sum + n, 0)
        most = { lane: Math.max(most.lane, ...counts.map(({ n }) => n)), all: Math.max(most.all, all) }
        const answers = await one.settle(claimed.map(each => settlement(each)))
        done += answers.filter(({ status }) => status === 'settled').length
      }
    }
    await Promise.all([store, ...others].map(work))
    expect(most).toEqual({ lane: 2, all: 7 })
    expect((await store.count({ state: 'succeeded' }, 1_000)).value).toBe(150)
    expect(await lanes()).toEqual([])
    const left = await sql(`SELECT 1 FROM ${schema}.partitions UNION ALL SELECT 1 FROM ${schema}.partition_notes`)
    expect(left, 'partitions without jobs are forgotten').toEqual([])
  })

  it('start jobs at the time of the decision, from which rates count', async () => {
    await setLimits({ partitions: { rate: '1/s', burst: 1 } })
    await store.enqueue(jobs(2, { partition: 'a' }))
    // A clock that moves on whenever it is read.
    await sql(`CREATE SEQUENCE ${schema}.read`)
    await sql(`
      CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
      AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 10000 * nextval('${schema}.read') $$`)
    const [started] = (await claim()).jobs
    const [partition] = await sql<{ open_at: string }>(`SELECT open_at FROM ${schema}.partitions WHERE name = 'a'`)
    expect(Number(partition!.open_at) - started!.startedAt!).toBe(1_000)
  })

  it('count the running jobs after the lock, never before it', async () => {
    await setLimits({ limit: { concurrency: 1 } })
    const [first] = jobs(1)
    await store.enqueue([first!, ...jobs(3)])
    await client.query('BEGIN')
    await client.query(`SELECT 1 FROM ${schema}.queues WHERE name = 'default' FOR UPDATE`)
    const claiming = claim()
    await untilBlocked()
    await client.query(`UPDATE ${schema}.jobs SET state = 'running', token = 't', run = 1, attempt = 1 WHERE id = $1`, [
      first!.id,
    ])
    await client.query('COMMIT')
    expect((await claiming).jobs).toEqual([])
  })

  it('leave a locked partition to the claim that has it, and take the others', async () => {
    await setLimits({ partitions: { concurrency: 1 } })
    await store.enqueue([...jobs(2, { partition: 'a' }), ...jobs(2, { partition: 'b' })])
    const first = await claim()
    await store.settle(first.jobs.map(each => settlement(each)))
    await client.query('BEGIN')
    await client.query(`SELECT 1 FROM ${schema}.partitions WHERE name = 'a' FOR UPDATE`)
    const second = await claim()
    expect(second.jobs.map(({ lane }) => lane)).toEqual(['b'])
    const empty = await claim()
    expect([empty.jobs, empty.nextDueAt]).toEqual([[], empty.now + 25])
    await client.query('ROLLBACK')
    expect(await lanes()).toEqual(['a'])
  })

  it('give every partition its turn, also with fewer places than partitions', async () => {
    await setLimits({ partitions: { fair: true } })
    for (const partition of ['a', 'b', 'z']) await store.enqueue(jobs(40, { partition }))
    const taken: (string | undefined)[] = []
    for (let round = 0; round < 6; round++) taken.push(...(await lanes(4)))
    for (const name of ['a', 'b', 'z']) expect(taken.filter(lane => lane === name).length).toBeGreaterThanOrEqual(4)
  })
})

describe('the end of a run', () => {
  it('frees its slot when the transaction of the handler commits, also if a claim has looked before', async () => {
    await setLimits({ partitions: { concurrency: 1 } })
    await store.enqueue(jobs(2, { partition: 'a' }))
    const { jobs: running } = await claim()
    await client.query('BEGIN')
    expect(await store.settle([settlement(running[0]!)], client)).toMatchObject([{ status: 'settled' }])
    expect(await lanes()).toEqual([])
    await client.query('COMMIT')
    expect(await lanes()).toEqual(['a'])
  })

  it('frees nothing and spends nothing when it is repeated', async () => {
    await setLimits({ partitions: { units: { tokens: '100/s' } } })
    await store.enqueue(jobs(3, { partition: 'a', units: { tokens: 1 } }))
    const { jobs: running } = await claim(1)
    const end = { ...settlement(running[0]!), spent: { tokens: 50 } }
    await store.settle([end])
    expect(await store.settle([end])).toEqual([{ status: 'already' }])
    expect(await sql(`SELECT body FROM ${schema}.partition_notes WHERE body IS NOT NULL`)).toHaveLength(1)
  })
})

describe('enqueue', () => {
  it("in a caller's open transaction blocks no claim, and its job gets its turn after the commit", async () => {
    await setLimits({ partitions: { concurrency: 2 } })
    await store.enqueue([job({ partition: 'a' })])
    await client.query('BEGIN')
    await store.enqueue([job({ partition: 'a' }), job({ partition: 'new' })], client)
    expect(await lanes()).toEqual(['a'])
    await client.query('COMMIT')
    expect((await lanes()).sort()).toEqual(['a', 'new'])
  })

  it('leaves the lane to the next claim if its process does not know the limits', async () => {
    await others[0]!.enqueue([job()])
    await claim()
    await setLimits({ partitions: { concurrency: 1 } })
    await others[0]!.enqueue(jobs(2, { partition: 'a' }))
    const unsorted = await sql(`SELECT 1 FROM ${schema}.jobs WHERE lane IS NULL AND state = 'waiting'`)
    expect(unsorted).toHaveLength(2)
    expect(await lanes(10, others[1])).toEqual(['a'])
  })

  it('gives jobs their lanes at once if its process has learned the limits', async () => {
    await setLimits({ partitions: { concurrency: 1 } })
    await others[0]!.enqueue([job({ partition: 'a' }), job({ tenantId: 't' }), job({ key: 'k' })])
    const rows = await sql<{ lane: string }>(`SELECT lane FROM ${schema}.jobs ORDER BY pk`)
    expect(rows.map(({ lane }) => lane)).toEqual(['a', 't', ''])
  })

  it('keeps jobs with long names of tenants in the partition of their tenant', async () => {
    const [one, two] = [`${'x'.repeat(300)}1`, `${'x'.repeat(300)}2`]
    await store.enqueue([...jobs(2, { tenantId: one }), ...jobs(2, { tenantId: two })])
    await setLimits({ partitions: { concurrency: 1 } })
    const { jobs: claimed } = await claim()
    expect(claimed.map(({ tenantId }) => tenantId).sort()).toEqual([one, two])
    expect(await lanes()).toEqual([])
  })
})

describe('order', () => {
  it('waits until all jobs of the queue are in their lanes', async () => {
    const [low] = jobs(1, { partition: 'a', priority: 0 })
    await store.enqueue([low!, ...jobs(2_500, { partition: 'a', priority: 9 })])
    await setLimits({ partitions: { order: 'fifo' } })
    const first: string[] = []
    while (first.length === 0) first.push(...(await claim()).jobs.map(({ id }) => id))
    expect(first).toEqual([low!.id])
  })
})

describe('claims of queues with and without limits', () => {
  it('take jobs of both, however many of the others are due', async () => {
    await store.setQueue('limited', { limits: { partitions: { concurrency: 5 }, from: 'operator' } })
    await store.enqueue([...jobs(1_000), ...jobs(20, { queue: 'limited', partition: 'a' })])
    const asked = { queues: ['default', 'limited'], limit: 50 }
    const fresh = others[0]!
    await fresh.claim(request(asked))
    const second = await fresh.claim(request(asked))
    expect(second.jobs.filter(({ queue }) => queue === 'limited')).toHaveLength(5)
    expect(second.jobs).toHaveLength(50)
  })

  it('return the same jobs for a repeated claim', async () => {
    await store.setQueue('limited', { limits: { partitions: { concurrency: 5 }, from: 'operator' } })
    await store.enqueue([...jobs(20), ...jobs(20, { queue: 'limited', partition: 'a' })])
    const asked = request({ queues: ['default', 'limited'], limit: 50 })
    const ids = async () => (await store.claim(asked)).jobs.map(({ id }) => id).sort()
    const first = await ids()
    expect(first).toHaveLength(25)
    expect(await ids()).toEqual(first)
  })
})
