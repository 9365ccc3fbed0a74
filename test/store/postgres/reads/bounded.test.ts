import { afterAll, beforeEach, expect, it } from 'vitest'
import type { Store } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, sql } from '../../../support/postgres.js'
import { job, jobs, openWatched, reported, request, settlement } from '../bench.js'

afterAll(dropSchemas)

const MANY = 300
/** Few beside `MANY`, and more than any of these calls needs. */
const FEW = 60

let schema: string

beforeEach(() => {
  schema = freshSchema()
})

async function run(act: (store: Store) => Promise<void>): Promise<void> {
  const store = await openWatched(schema)
  await store.migrate()
  await act(store)
  await reported(store, schema)
}

/** How many rows of the table of jobs a call reads, whichever way. */
async function rowsRead(act: (store: Store) => Promise<void>): Promise<number> {
  const before = await soFar()
  await run(act)
  return (await soFar()) - before
}

async function soFar(): Promise<number> {
  const [row] = await sql<{ read: string }>(
    `SELECT seq_tup_read + idx_tup_fetch AS read FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'jobs'`,
    [schema],
  )
  return Number(row?.read ?? 0)
}

async function succeed(store: Store, count: number): Promise<void> {
  await store.enqueue(jobs(count))
  const { jobs: claimed } = await store.claim(request({ limit: count }))
  await store.settle(claimed.map(one => settlement(one)))
}

it('a prune reads few rows if no job is old enough', async () => {
  await run(store => succeed(store, MANY))
  const read = await rowsRead(async store => {
    const { pruned } = await store.prune({ olderThanMs: { succeeded: 86_400_000 }, keyMs: 0, limit: 100 })
    expect(pruned.succeeded).toBe(0)
  })
  expect(read).toBeLessThan(FEW)
})

it('a wave reads few of the jobs that are due long since or long after its window', async () => {
  await run(async store => {
    await store.enqueue([...jobs(MANY), ...jobs(MANY, { runAt: { delayMs: 7_200_000 } })])
  })
  const read = await rowsRead(async store => {
    const { complete } = await store.wave({ windowMs: 3_600_000, buckets: 6, lookAt: 10 })
    expect(complete).toBe(false)
  })
  expect(read).toBeLessThan(FEW)
})

it('the forecast of a dependency reads few jobs of others', async () => {
  await run(async store => {
    await store.enqueue([...jobs(MANY, { dependency: 'other' }), job({ dependency: 'mine' })])
  })
  const read = await rowsRead(async store => {
    const { groups } = await store.waiting({ dependency: 'mine', lookAt: 100, limit: 10 })
    expect(groups).toHaveLength(1)
  })
  expect(read).toBeLessThan(FEW)
})

it('a search in few dead letters reads few rows to say how many it looked at', async () => {
  await run(async store => {
    await succeed(store, MANY)
    await store.enqueue([job({ queue: 'other', payload: '"needle"' })])
  })
  const read = await rowsRead(async store => {
    const page = await store.list({ state: 'waiting', text: 'needle' }, { limit: 5, lookAt: 10_000 })
    expect(page).toMatchObject({ data: [{ queue: 'other' }], looked: 1 })
  })
  expect(read).toBeLessThan(FEW)
})
