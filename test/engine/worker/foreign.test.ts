import { describe, expect, test } from 'vitest'
import { ChronosError } from '../../../src/core/values/error.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { FOREIGN_MS } from '../../../src/engine/worker/foreign.js'
import type { Store } from '../../../src/store/store.js'
import { type TestChronos, testChronos, type VirtualClock } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const mail = defineJob({ name: 'mail', run: async (_: unknown) => 'sent' })
const resize = defineJob({ name: 'resize', run: async (_: unknown) => 'resized' })
const NAMES = Array.from({ length: 30 }, (_, n) => n)

const states = async (t: TestChronos, ids: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set((await t.jobs.list({ ids }, { limit: 200 })).data.map(({ state }) => state))

describe.each(STORES)('a job without a handler in the worker that claims it, on %s', (_, store) => {
  test('is run at once by another worker of its queue', async () => {
    await using t = testChronos({ jobs: [mail], store })
    const other = t.chronos.work([resize], { signals: false, lease: '1h', poll: '1h' })
    const ids: string[] = []
    for (const n of NAMES) ids.push((await t.enqueue('resize', n)).id)
    await t.advance('100ms')
    expect(await states(t, ids)).toEqual(new Set(['succeeded']))
    const [first] = (await t.jobs.history(ids[0]!)).data
    expect(first).toMatchObject({ attempt: 1, status: 'succeeded' })
    await t.enqueue(mail, 1)
    await t.advance('100ms')
    expect(t.worker.getStats()).toMatchObject({ succeeded: 1, released: 0 })
    await other.stop()
  })

  test('is left to a pull worker, beside a worker without any job', async () => {
    await using t = testChronos({ jobs: [], store })
    for (const n of NAMES) await t.enqueue('resize', n)
    await t.advance('100ms')
    const { data } = await t.chronos.leases.claim({ workerId: 'python', limit: 50 })
    expect(data.map(({ job }) => job.name)).toEqual(NAMES.map(() => 'resize'))
    const { id } = await t.enqueue('resize', 'later')
    await t.advance('10ms')
    const later = await t.chronos.leases.claim({ workerId: 'python', limit: 50 })
    expect(later.data.map(({ job }) => job.id)).toEqual([id])
  })

  test('is waiting again at once, as if it had not been claimed', async () => {
    await using t = testChronos({ jobs: [mail], store })
    await t.enqueueMany('resize', NAMES)
    const { id } = await t.enqueue('resize', 'last')
    await t.advance('1s')
    expect(await t.jobs.get(id)).toMatchObject({ state: 'waiting', phase: 'queued', attempt: 0 })
    expect((await t.jobs.history(id)).data).toEqual([])
    const later = t.chronos.work([resize], { signals: false, lease: '1h', poll: '1h' })
    await t.advance('1s')
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 'resized' })
    await later.stop()
  })

  test('keeps its lease while its return can not be stored', async () => {
    let awayUntil = Number.POSITIVE_INFINITY
    const unsteady = (clock: VirtualClock): Store => {
      const all = store(clock)
      const settle: Store['settle'] = settlements =>
        clock.now() < awayUntil && settlements.some(({ end }) => end.kind === 'handed-back')
          ? Promise.reject(new ChronosError('STORE_UNAVAILABLE', 'connection refused'))
          : all.settle(settlements)
      return { ...all, settle }
    }
    await using t = testChronos({ jobs: [mail], store: unsteady, work: { lease: '5s' } })
    const { id } = await t.enqueue('resize', 1)
    await t.advance('1m')
    expect(await t.jobs.get(id)).toMatchObject({ state: 'running', attempt: 1 })
    awayUntil = t.clock.now()
    await t.advance('10s')
    expect(await t.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })
    expect((await t.jobs.history(id)).data).toEqual([])
  })

  test('does not hide the jobs behind it', async () => {
    await using t = testChronos({ jobs: [mail], store, work: { concurrency: 1 } })
    await t.enqueueMany('resize', Array(2_500).fill(null))
    const { id } = await t.enqueue(mail, 1)
    await t.advance('2s')
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded' })
  })

  test('is not claimed again for five minutes', async () => {
    const claims: (readonly string[])[] = []
    const listening = (clock: VirtualClock): Store => {
      const opened = store(clock)
      const claim: Store['claim'] = async request => {
        const answer = await opened.claim(request)
        if (answer.jobs.length > 0) claims.push(answer.jobs.map(({ name }) => name))
        return answer
      }
      return new Proxy(opened, {
        get: (target, key) => {
          const value: unknown = key === 'claim' ? claim : Reflect.get(target, key)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    }
    await using t = testChronos({ jobs: [mail], store: listening, work: { poll: '1s' } })
    await t.enqueue('resize', 1)
    await t.advance(FOREIGN_MS - 2_000)
    expect(claims).toEqual([['resize']])
    await t.advance('4s')
    expect(claims).toEqual([['resize'], ['resize']])
  })

  test('is explained with the nearest known name, and counted in the statistics', async () => {
    await using t = testChronos({ jobs: [mail, resize], store })
    await t.enqueueMany('resise', [1, 2])
    const { id } = await t.enqueue('resise', 3)
    await t.advance('1m')
    const { waiting } = await t.jobs.explain(id)
    expect(waiting).toEqual({
      because: 'no-handler',
      words: 'it has been due for 1m, but no worker of its queue knows the job "resise"; did you mean "resize"?',
    })
    expect((await t.chronos.stats()).unhandled).toEqual([
      { queue: 'default', name: 'resise', waiting: { value: 3, relation: 'exact' }, similar: 'resize' },
    ])
    await t.jobs.cancelAll({ name: 'resise' })
    expect((await t.chronos.stats()).unhandled).toEqual([])
  })
})

describe('an enqueue by name', () => {
  const warning = 'no worker has ever announced a handler for "resise"; did you mean "resize"?'

  test('warns of a name that no worker has announced', async () => {
    await using t = testChronos({ jobs: [mail, resize] })
    await t.advance('1s')
    expect(await t.enqueue('resise', 1)).toMatchObject({ status: 'created', warnings: [warning] })
    expect(await t.enqueueMany('resise', [1])).toMatchObject([{ status: 'created', warnings: [warning] }])
    expect((await t.enqueue('resize', 1)).warnings).toBeUndefined()
  })

  test('knows the names of workers that have stopped', async () => {
    await using t = testChronos({ jobs: [mail] })
    const other = t.chronos.work([resize], { signals: false })
    await t.advance('20m')
    await other.stop()
    await t.advance('20m')
    expect((await t.enqueue('resize', 1)).warnings).toBeUndefined()
    expect((await t.enqueue('resise', 1)).warnings).toEqual([warning])
  })

  test('does not warn while a pull worker takes jobs of any name', async () => {
    await using t = testChronos({ jobs: [resize] })
    await t.chronos.leases.claim({ workerId: 'python', queues: ['default'] })
    await t.advance('2s')
    expect((await t.enqueue('resise', 1)).warnings).toBeUndefined()
  })
})
