import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { readGauges } from '../../../src/engine/figures/gauges.js'
import type { QueueReport } from '../../../src/engine/jobs/queue-report.js'
import { storeProxy } from '../../../src/engine/time/store-proxy.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import type { Store } from '../../../src/store/store.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const TENANTS = ['acme', 'globex', undefined]
const NAMES = Array.from({ length: 2_000 }, (_, number) => `q${String(number).padStart(5, '0')}`)
const jobsIn = (queue: number): number => 1 + (queue % 3)
const tenantOf = (queue: number): string | undefined => TENANTS[queue % TENANTS.length]

describe.each(STORES)('thousands of queues of several tenants on %s', (_, open) => {
  const calls: string[] = []
  let store: Store
  let chronos: Chronos

  beforeAll(async () => {
    const clock = new VirtualClock()
    store = storeProxy(open(clock), (name, verb) => (...args) => {
      calls.push(name)
      return verb(...args)
    })
    chronos = new Chronos(async () => store, clock, seededDice(1), { log: false })
    const enqueue = (queue: string, number: number): Promise<unknown> => {
      const tenantId = tenantOf(number)
      return chronos.enqueue('work', {}, tenantId === undefined ? { queue } : { queue, tenantId })
    }
    await Promise.all(
      NAMES.flatMap((queue, number) => Array.from({ length: jobsIn(number) }, () => enqueue(queue, number))),
    )
  })
  afterAll(() => chronos.close())

  test('are listed in pages whose counts agree with the store', async () => {
    const found: QueueReport[] = []
    for (let cursor: string | undefined; found.length === 0 || cursor !== undefined; ) {
      const { data, page } = await chronos.queues.report({ limit: 200, ...(cursor !== undefined && { cursor }) })
      expect(data.length).toBeLessThanOrEqual(200)
      found.push(...data)
      cursor = page.next
    }
    expect(found.map(({ name }) => name)).toEqual(NAMES)
    expect(found.map(({ counts }) => counts.queued.value)).toEqual(NAMES.map((_name, number) => jobsIn(number)))
    for (const tenantId of ['acme', 'globex']) {
      const mine = found.filter((_queue, number) => tenantOf(number) === tenantId)
      const waiting = mine.reduce((sum, { counts }) => sum + counts.queued.value, 0)
      expect((await chronos.jobs.count({ tenantId }, 100_000)).value).toBe(waiting)
    }
    const all = await chronos.jobs.count({ state: 'waiting' }, 100_000)
    expect((await chronos.stats()).jobs.queued).toEqual(all)
  })

  test('cost as many store calls as one queue', async () => {
    const callsOf = async (act: () => Promise<unknown>): Promise<number> => {
      calls.length = 0
      await act()
      return calls.filter(name => name !== 'fold').length
    }
    expect(await callsOf(() => chronos.queues.report())).toBeLessThan(10)
    expect(await callsOf(() => chronos.queues.get(NAMES[7]!))).toBeLessThan(10)
    expect(await callsOf(() => chronos.stats())).toBeLessThan(25)
    expect(await callsOf(() => readGauges(store))).toBeLessThan(15)
  })

  test('are found by a part of their name', async () => {
    const { data, page } = await chronos.queues.report({ q: 'Q0001', limit: 3 })
    expect(data.map(({ name }) => name)).toEqual(['q00010', 'q00011', 'q00012'])
    expect(page.next).toBe('q00013')
  })
})

describe.each(STORES)('the busiest queues on %s', (_, store) => {
  test('are those without a worker for their jobs, then those with the most activity', async () => {
    const job = defineJob({ name: 'work', run: () => undefined })
    await using t = testChronos({ jobs: [job], store, work: { queues: ['calm', 'active', 'idle'] } })
    await t.queues.set('idle', {})
    await t.enqueue(job, {}, { queue: 'calm' })
    await t.enqueueMany(job, [1, 2, 3], { queue: 'active' })
    await t.enqueue(job, {}, { queue: 'stuck-later', delay: '10s' })
    await t.enqueue(job, {}, { queue: 'stuck' })
    await t.advance('1m')
    const names = async (limit: number): Promise<readonly string[]> =>
      (await t.queues.report({ sort: 'busiest', limit })).data.map(({ name }) => name)
    expect(await names(10)).toEqual(['stuck', 'stuck-later', 'active', 'calm', 'idle'])
    expect(await names(2)).toEqual(['stuck', 'stuck-later'])
  })
})
