import { afterAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/store/store.js'
import { dropSchemas, openStore, postgresUrl } from '../support/postgres.js'
import { job, jobs, request, settlement } from './bench.js'

afterAll(dropSchemas)

/** What a planner may choose on a day when its statistics are wrong. */
const PLANS: readonly (readonly string[])[] = [
  ['enable_hashjoin'],
  ['enable_mergejoin'],
  ['enable_nestloop'],
  ['enable_nestloop', 'enable_hashjoin'],
  ['enable_nestloop', 'enable_mergejoin'],
  ['enable_mergejoin', 'enable_hashjoin'],
  ['enable_seqscan'],
  ['enable_indexscan', 'enable_indexonlyscan'],
  ['enable_bitmapscan'],
  ['enable_indexscan', 'enable_indexonlyscan', 'enable_bitmapscan'],
  ['enable_sort', 'enable_material'],
]

async function openWith(plan: readonly string[]): Promise<Store> {
  const options = plan.map(setting => `-c ${setting}=off`).join(' ')
  const store = await openStore({ connection: { connectionString: await postgresUrl(), options } })
  await store.migrate()
  return store
}

describe.each(PLANS)('with %s off', (...plan) => {
  it('claims what is asked for, in order, and no more', async () => {
    const store = await openWith(plan)
    const all = [
      ...jobs(30, { priority: 2 }),
      ...jobs(30, { priority: 7, queue: 'other' }),
      ...jobs(10, { priority: 7 }),
      ...jobs(20, { priority: 9, runAt: { delayMs: 60_000 } }),
      ...jobs(5, { queue: 'paused' }),
    ]
    await store.enqueue(all)
    await store.setQueue('paused', { paused: true })
    const queues = ['default', 'other', 'paused', 'none']
    const first = await store.claim(request({ queues, limit: 35 }))
    expect(first.jobs.map(({ id }) => id)).toEqual(all.slice(30, 65).map(({ id }) => id))
    const one = await store.claim(request({ limit: 7 }))
    expect(one.jobs.map(({ id }) => id)).toEqual([...all.slice(65, 70), ...all.slice(0, 2)].map(({ id }) => id))
    expect((await store.count({ state: 'running' }, 100)).value).toBe(42)
    const rest = await store.claim(request({ queues, limit: 100 }))
    expect(rest.jobs).toHaveLength(28)
    expect(rest.nextDueAt).toBeGreaterThan(rest.now)
    await store.close()
  })

  it('settles exactly what its leases hold', async () => {
    const store = await openWith(plan)
    await store.enqueue(jobs(60))
    const { jobs: claimed } = await store.claim(request({ limit: 40 }))
    const ends = claimed.map((one, index) => settlement(one, index % 3 === 0 ? 'failed' : 'succeeded'))
    const forged = ends.slice(0, 5).map(end => ({ ...end, lease: { ...end.lease, token: 'f'.repeat(32) } }))
    const answers = await store.settle([...forged, ...ends.slice(0, 20)])
    expect(answers.map(({ status }) => status)).toEqual([...Array(5).fill('lost'), ...Array(20).fill('settled')])
    expect(await store.settle(ends.slice(0, 20))).toEqual(Array(20).fill({ status: 'already' }))
    expect(
      await store.extend(
        ends.map(({ lease }) => lease),
        1000,
      ),
    ).toEqual([...Array(20).fill('lost'), ...Array(20).fill('held')])
    for (const [index, { id }] of claimed.slice(0, 20).entries()) {
      const { data } = await store.history(id, { limit: 5 })
      expect(data).toMatchObject([{ run: 1, status: index % 3 === 0 ? 'failed' : 'succeeded' }])
    }
    expect((await store.count({ state: 'running' }, 100)).value).toBe(20)
    expect((await store.count({ state: 'waiting' }, 100)).value).toBe(27)
    await store.close()
  })

  it('takes, frees and prunes keys and unique values', async () => {
    const store = await openWith(plan)
    const keyed = { key: 'k', payloadHash: 'h' }
    const [first, , third] = [job(keyed), job(keyed), job({ unique: 'u' })]
    expect(await store.enqueue([first!, job(keyed), third!, job({ unique: 'u' })])).toMatchObject([
      { status: 'created' },
      { status: 'existing', id: first!.id },
      { status: 'created' },
      { status: 'existing', id: third!.id },
    ])
    await store.cancel([first!.id, third!.id])
    expect(await store.redrive([third!.id])).toMatchObject([{ status: 'changed' }])
    expect(await store.prune({ olderThanMs: { cancelled: 0 }, keyMs: 0, limit: 10 })).toEqual({
      pruned: { succeeded: 0, dead: 0, cancelled: 1 },
      keys: 1,
    })
    expect(await store.enqueue([job(keyed)])).toMatchObject([{ status: 'created' }])
    await store.close()
  })
})
