import { afterAll, describe, expect, it } from 'vitest'
import { acknowledge, cancel, discard, expire, redrive } from '../../../src/core/job/changes.js'
import type { JobFilter, Store } from '../../../src/store/store.js'
import { dropSchemas, openStore, postgresUrl } from '../../support/postgres.js'
import { job, jobs, request, settlement } from './bench.js'

afterAll(dropSchemas)

/** Planner settings that force plans as with wrong statistics. */
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
  it('claims the requested number of jobs, in order', async () => {
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

  it('settles only jobs whose leases match', async () => {
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
    await store.change([first!.id, third!.id], cancel)
    expect(await store.change([third!.id], redrive())).toMatchObject([{ status: 'changed' }])
    expect(await store.prune({ olderThanMs: { cancelled: 0 }, keyMs: 0, limit: 10 })).toEqual({
      pruned: { succeeded: 0, dead: 0, cancelled: 1 },
      keys: 1,
    })
    expect(await store.enqueue([job(keyed)])).toMatchObject([{ status: 'created' }])
    await store.close()
  })

  it('defers the first jobs of a dependency, each with its own delay', async () => {
    const store = await openWith(plan)
    const dependency = 'g'
    const all = [...jobs(6, { dependency }), ...jobs(3, { dependency: 'other' }), ...jobs(3)]
    await store.enqueue(all)
    const delaysMs = [60_000, 70_000, 80_000, 90_000]
    expect(await store.defer({ dependency, from: { dueWithinMs: 0 }, delaysMs, pass: 1 })).toEqual({ moved: 4 })
    const deferred = await Promise.all(all.slice(0, 6).map(async ({ id }) => (await store.get(id))!))
    const first = deferred[0]!.runAt
    expect(deferred.slice(0, 4).map(({ runAt }) => runAt - first)).toEqual([0, 10_000, 20_000, 30_000])
    expect(deferred.map(({ pass }) => pass)).toEqual([1, 1, 1, 1, undefined, undefined])
    expect(await store.defer({ dependency, from: { pass: 1 }, delaysMs: [0, 0], pass: 2 })).toEqual({ moved: 2 })
    expect((await store.claim(request())).jobs).toHaveLength(10)
    await store.close()
  })

  it('starts jobs in lanes as their limits allow', async () => {
    const store = await openWith(plan)
    const limits = { limit: { concurrency: 9 }, partitions: { concurrency: 2 }, from: 'operator' } as const
    await store.enqueue(jobs(10, { partition: 'before' }))
    await store.setQueue('default', { limits })
    const names = ['a', 'b', 'c', 'd']
    await store.enqueue(names.flatMap(partition => jobs(20, { partition })))
    await store.enqueue([...jobs(3, { partition: 'e', runAt: { delayMs: 60_000 } }), ...jobs(3, { partition: 'e' })])
    const lanesOf = async (limit: number) =>
      (await store.claim(request({ limit }))).jobs.map(({ lane }) => lane!).sort()
    expect(await lanesOf(6)).toHaveLength(6)
    const running = await lanesOf(100).then(async () => (await store.list({ state: 'running' }, { limit: 50 })).data)
    expect(running).toHaveLength(9)
    for (const name of [...names, 'e', 'before'])
      expect(running.filter(({ lane }) => lane === name).length).toBeLessThanOrEqual(2)
    expect(await lanesOf(100)).toEqual([])
    await store.setQueue('default', { limits: null })
    let left = 93 - 9
    while (left > 0) left -= (await lanesOf(200)).length
    expect([left, await lanesOf(200)]).toEqual([0, []])
    await store.close()
  })

  it('folds every delta, and finds jobs by the newer fields', async () => {
    const store = await openWith(plan)
    const some = jobs(12, { dependency: 'g', fingerprint: 'f', deadline: { delayMs: 0 } })
    await store.enqueue(some)
    await store.enqueue([...some, ...jobs(3)])
    expect(await store.change(await store.overdue(20), expire)).toHaveLength(12)
    const ids = some.map(({ id }) => id)
    await store.change(ids.slice(0, 2), acknowledge)
    await store.change(ids.slice(0, 1), discard)
    await store.change(ids.slice(10), redrive({ redriveId: 'r', delaysMs: [60_000, 70_000] }))
    while ((await store.fold(2)) > 0);
    expect(await store.audit()).toMatchObject({
      queues: [{ ledger: { enqueued: 15, removed: 0 }, rows: { waiting: 5, dead: 10 } }],
      findings: [],
    })
    const [record] = await store.records('ledger', { ids: ['default'] })
    expect(JSON.parse(record!.body)).toMatchObject({ enqueued: 15 })
    const listed = async (filter: JobFilter) =>
      (await store.list(filter, { limit: 20, order: 'oldest' })).data.map(({ id }) => id)
    expect(await listed({ fingerprint: 'f', state: 'dead', acknowledged: false })).toEqual(ids.slice(2, 10))
    expect(await listed({ dependency: 'g', state: 'waiting' })).toEqual(ids.slice(10))
    expect(await listed({ redriveId: 'r' })).toEqual(ids.slice(10))
    expect(await store.tally('r')).toMatchObject({ pending: 2, dead: 0 })
    const puts = ['b', 'a', 'c'].map(id => ({ kind: 'k', id, body: '1' }))
    await store.putRecords(puts)
    await store.putRecords([{ kind: 'k', id: 'b', body: null }, ...puts.slice(2)])
    expect(await store.records('k', { from: 'a', to: 'd', limit: 5 })).toMatchObject([
      { id: 'a' },
      { id: 'c', version: 2 },
    ])
    await store.close()
  })
})
