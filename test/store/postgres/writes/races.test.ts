import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cancel, redrive } from '../../../../src/core/job/changes.js'
import type { Store } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { drain, job, jobs, request, runsIn, settlement } from '../bench.js'

afterAll(dropSchemas)

let schema: string
let stores: Store[]

beforeEach(async () => {
  schema = freshSchema()
  stores = await Promise.all([1, 2, 3].map(() => openStore({ schema })))
  await stores[0]!.migrate()
})

afterEach(() => Promise.all(stores.map(store => store.close())))

const never = (error: unknown) => {
  throw error
}

describe('several stores on one database', () => {
  it('claim disjoint jobs, and together all of them, with any limits', async () => {
    const all = jobs(3000)
    await stores[0]!.enqueue(all)
    const drains = stores.flatMap((store, index) => [1, 2].map(() => drain(store, 10 + 40 * index, never)))
    const done = (await Promise.all(drains)).flat()
    expect(done).toHaveLength(3000)
    expect(new Set(done).size).toBe(3000)
    const runs = await sql<{ n: string }>(`SELECT count(*) AS n FROM ${runsIn(schema)} a WHERE run = 1`)
    expect(runs).toEqual([{ n: '3000' }])
    expect(await stores[0]!.count({ state: 'succeeded' }, 5000)).toMatchObject({ value: 3000 })
  })

  it('claim disjoint jobs from several queues', async () => {
    await stores[0]!.enqueue(['a', 'b', 'c'].flatMap(queue => jobs(200, { queue })))
    const claims = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        stores[index % 3]!.claim(request({ queues: ['a', 'b', 'c'], limit: 20 })),
      ),
    )
    const taken = claims.flatMap(claim => claim.jobs.map(({ id }) => id))
    expect(new Set(taken).size).toBe(taken.length)
    expect(taken.length).toBeGreaterThan(300)
  })

  it('create one job per key', async () => {
    for (let round = 0; round < 10; round++) {
      const keyed = { key: `order:${round}`, payloadHash: 'h' }
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) => stores[index % 3]!.enqueue([job(keyed), job({ name: 'other' })])),
      )
      const ids = new Set(answers.map(([answer]) => answer!.id))
      expect(ids.size).toBe(1)
      expect(answers.filter(([answer]) => answer!.status === 'created')).toHaveLength(1)
    }
  })

  it('create one job per key for batches in any order', async () => {
    const keys = Array.from({ length: 40 }, (_, index) => `k${index}`)
    const batch = (order: string[]) => order.map(key => job({ key, payloadHash: 'h' }))
    const [forth, back] = await Promise.all([
      stores[0]!.enqueue(batch(keys)),
      stores[1]!.enqueue(batch([...keys].reverse())),
    ])
    expect(forth!.map(({ id }) => id)).toEqual(back!.map(({ id }) => id).reverse())
    expect((await stores[0]!.count({}, 100)).value).toBe(40)
  })

  it('keep one live job per unique value, even when dead jobs are redriven', async () => {
    const [first] = await stores[0]!.enqueue([job({ unique: 'u' })])
    await stores[0]!.change([first!.id], cancel)
    for (let round = 0; round < 10; round++) {
      const [redriven, enqueued] = await Promise.all([
        stores[0]!.change([first!.id], redrive()),
        stores[1]!.enqueue([job({ unique: 'u' })]),
        stores[2]!.enqueue([job({ unique: 'u' })]),
      ])
      expect((await stores[0]!.count({ state: 'waiting' }, 10)).value).toBe(1)
      if (redriven[0]!.status === 'changed') expect(enqueued).toEqual([{ status: 'existing', id: first!.id }])
      const live = await stores[0]!.list({ state: 'waiting' }, { limit: 10 })
      await stores[0]!.change(
        live.data.map(({ id }) => id),
        cancel,
      )
    }
  })

  it('settle a run once if a worker and two sweepers end it concurrently', async () => {
    await stores[0]!.enqueue(jobs(50))
    const { jobs: claimed } = await stores[0]!.claim(request({ leaseMs: 1 }))
    const ends = claimed.map(one => settlement(one))
    const swept = claimed.map(one => ({ ...settlement(one, 'failed'), onlyIfExpired: true }))
    const answers = await Promise.all([
      stores[0]!.settle(ends),
      stores[1]!.settle(swept),
      stores[2]!.settle([...swept].reverse()),
    ])
    for (const [index, { id }] of claimed.entries()) {
      const three = [answers[0]![index]!, answers[1]![index]!, answers[2]![claimed.length - 1 - index]!]
      expect(three.filter(({ status }) => status === 'settled')).toHaveLength(1)
      expect((await stores[0]!.history(id, { limit: 5 })).data).toHaveLength(1)
    }
  })

  it('each find all jobs of a dead worker, however many of them look at the same moment', async () => {
    await stores[0]!.enqueue(jobs(40))
    const { jobs: held } = await stores[0]!.claim(request({ leaseMs: 1, limit: 40 }))
    expect(held).toHaveLength(40)
    await sql('SELECT pg_sleep(0.02)')
    for (let round = 0; round < 20; round++) {
      const looks = await Promise.all(Array.from({ length: 9 }, (_, n) => stores[n % 3]!.expired({ workers: 10 })))
      expect(looks.map(look => look.jobs.length)).toEqual(looks.map(() => 40))
    }
  })

  it('end a job that is cancelled and claimed concurrently', async () => {
    for (let round = 0; round < 15; round++) {
      const all = jobs(10)
      await stores[0]!.enqueue(all)
      const [claim, changes] = await Promise.all([
        stores[0]!.claim(request()),
        stores[1]!.change(
          all.map(({ id }) => id),
          cancel,
        ),
      ])
      const running = new Set(claim.jobs.map(({ id }) => id))
      for (const change of changes) expect(change.status).toBe(running.has(change.id) ? 'requested' : 'changed')
      const answers = await stores[0]!.settle(claim.jobs.map(one => settlement(one, 'failed')))
      expect(answers.every(one => one.status === 'settled' && one.state === 'cancelled')).toBe(true)
    }
  })

  it('can prune and remove the same jobs concurrently', async () => {
    await stores[0]!.enqueue(jobs(200, { key: undefined as never }).map(({ key, ...one }) => one))
    const ids = (await drain(stores[0]!, 100, never)) as string[]
    const request = { olderThanMs: { succeeded: -1000 }, keyMs: 0, limit: 150 }
    const [first, second, removed] = await Promise.all([
      stores[0]!.prune(request),
      stores[1]!.prune(request),
      stores[2]!.remove(ids),
    ])
    const pruned = first.pruned.succeeded + second.pruned.succeeded
    expect(pruned + removed.filter(({ status }) => status === 'changed').length).toBe(200)
    expect((await sql(`SELECT 1 FROM ${runsIn(schema)} a`)).length).toBe(0)
  })
})

describe('a pool that gives every transaction another connection', () => {
  it('works, because no state depends on a session', async () => {
    const pool = new pg.Pool({ connectionString: await postgresUrl(), maxUses: 1 })
    const store = await openStore({ schema, pool })
    await store.enqueue([...jobs(50), job({ key: 'k', payloadHash: 'h' }), job({ key: 'k', payloadHash: 'h' })])
    const asked = request({ limit: 30 })
    const first = await store.claim(asked)
    expect((await store.claim(asked)).jobs.map(({ id }) => id)).toEqual(first.jobs.map(({ id }) => id))
    const leases = first.jobs.map(({ id, token }) => ({ id, token }))
    expect(new Set(await store.begin(leases))).toEqual(new Set(['held']))
    expect(await store.beginEffect(leases[0]!, 'mail')).toEqual({ status: 'new' })
    expect(await store.endEffect(leases[0]!, 'mail', '1')).toBe('done')
    await store.settle(first.jobs.map(one => settlement(one)))
    expect((await drain(store, 10, never)).length).toBe(21)
    expect(pool.totalCount, 'the connections of the caller stay the caller’s').toBe(0)
    await store.close()
    await pool.end()
  })
})

describe('a driver without pipelining', () => {
  it('works with more round trips', async () => {
    class OldClient extends pg.Client {
      constructor(settings: pg.ClientConfig) {
        super({ ...settings, pipeline: false } as pg.ClientConfig)
      }
    }
    const pool = new pg.Pool({ connectionString: await postgresUrl(), Client: OldClient as never })
    const store = await openStore({ schema, pool })
    await store.enqueue([...jobs(20), job({ unique: 'u' })])
    await expect(store.enqueue([job({ priority: 99 })])).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect((await drain(store, 8, never)).length).toBe(21)
    await store.close()
    await pool.end()
  })
})
