import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { jobs, openWatched, reported, request, settlement } from '../bench.js'

afterAll(dropSchemas)

const dependency = 'https://api.example.com'
let schema: string
let stores: Store[]

beforeEach(async () => {
  schema = freshSchema()
  stores = await Promise.all([1, 2, 3].map(() => openStore({ schema })))
  await stores[0]!.migrate()
})

afterEach(() => Promise.all(stores.map(store => store.close())))

describe('defer', () => {
  it('moves only jobs of the tenant, or only jobs without one', async () => {
    const [store] = stores as [Store]
    await store.enqueue([
      ...jobs(3, { dependency, tenantId: 'acme' }),
      ...jobs(2, { dependency, tenantId: 'globex' }),
      ...jobs(4, { dependency }),
    ])
    const all = { dependency, from: { dueWithinMs: 0 }, delaysMs: Array.from({ length: 20 }, () => 3_600_000) }
    expect(await store.defer({ ...all, pass: 1, tenantId: 'acme' })).toEqual({ moved: 3 })
    expect(await store.defer({ ...all, pass: 1, tenantId: null })).toEqual({ moved: 4 })
    expect(await store.defer({ ...all, pass: 1 })).toEqual({ moved: 2 })
  })

  it('shares the jobs of a dependency with concurrent claims without waiting: each job is deferred or claimed', async () => {
    await stores[0]!.enqueue(jobs(600, { dependency }))
    const delaysMs = Array.from({ length: 40 }, (_, index) => 3_600_000 + index)
    const acts = [
      async () => (await stores[1]!.claim(request({ limit: 30 }))).jobs.length,
      async () => (await stores[2]!.defer({ dependency, from: { dueWithinMs: 0 }, delaysMs, pass: 1 })).moved,
    ]
    // Both get a share before either can take every job, because one may connect later than the other.
    const first = await Promise.all(acts.map(act => act()))
    expect(first).toEqual([30, 40])
    const rest = await Promise.all(acts.map(repeatedly))
    const [taken, moved] = [first[0]! + rest[0]!, first[1]! + rest[1]!]
    expect(taken + moved).toBe(600)
    expect((await stores[0]!.count({ state: 'running' }, 1000)).value).toBe(taken)
    expect((await stores[0]!.count({ dependency, phase: 'blocked' }, 1000)).value).toBe(moved)
    const [strange] = await sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM ${schema}.jobs WHERE (state = 'running') = (pass IS NOT NULL)`,
    )
    expect(strange).toEqual({ n: 0 })
  })

  /** Repeats until no job is left, and returns the total. */
  async function repeatedly(act: () => Promise<number>): Promise<number> {
    let sum = 0
    for (let empty = 0; empty < 3; ) {
      const count = await act()
      sum += count
      empty = count === 0 ? empty + 1 : 0
    }
    return sum
  }

  it('skips jobs that another transaction has locked, and gives the delays to the others in order', async () => {
    const all = jobs(5, { dependency })
    await stores[0]!.enqueue(all)
    const client = new pg.Client(await postgresUrl())
    await client.connect()
    await client.query(`BEGIN; SELECT 1 FROM ${schema}.jobs WHERE id IN ('${all[0]!.id}', '${all[2]!.id}') FOR UPDATE`)
    const deferred = { dependency, from: { dueWithinMs: 0 }, delaysMs: [10_000, 20_000, 30_000], pass: 1 } as const
    expect(await stores[0]!.defer(deferred)).toEqual({ moved: 3 })
    await client.query('COMMIT')
    await client.end()
    const times = await Promise.all(all.map(async ({ id }) => (await stores[0]!.get(id))!))
    const [first, second, third, fourth, fifth] = times.map(({ runAt, createdAt }) => runAt - createdAt)
    expect([first, third]).toEqual([0, 0])
    expect(fourth! - second!).toBe(10_000)
    expect(fifth! - fourth!).toBe(10_000)
    expect(times.map(({ pass }) => pass)).toEqual([undefined, 1, undefined, 1, 1])
  })

  it('reads neither jobs of another dependency nor jobs that it has already deferred', async () => {
    const [store] = stores
    const other = await openWatched(schema)
    await store!.enqueue(jobs(3000, { dependency: 'another' }))
    await store!.enqueue(jobs(3000, { dependency, runAt: { delayMs: 3_600_000 } }))
    await store!.enqueue(jobs(3000))
    const done = await store!.claim(request({ limit: 1000 }))
    await store!.settle(done.jobs.map(one => settlement(one)))
    await store!.enqueue(jobs(10, { dependency }))
    await sql(`VACUUM ANALYZE ${schema}.jobs`)
    const read = async () => {
      const [row] = await sql<{ n: string }>(
        `SELECT idx_tup_read AS n FROM pg_stat_user_indexes WHERE schemaname = $1 AND indexrelname = 'jobs_dependency'`,
        [schema],
      )
      return Number(row!.n)
    }
    const before = await read()
    const delaysMs = Array.from({ length: 100 }, () => 60_000)
    expect(await other.defer({ dependency, from: { dueWithinMs: 0 }, delaysMs, pass: 1 })).toEqual({ moved: 10 })
    await reported(other, schema)
    const after = await read()
    expect(after).toBeGreaterThan(before)
    expect(after - before).toBeLessThan(30)
  })
})
