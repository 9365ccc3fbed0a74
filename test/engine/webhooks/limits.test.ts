import { describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/core/values/clock.js'
import { DELIVERIES, endpointKey } from '../../../src/core/webhook/delivery.js'
import { ENDPOINT_CONCURRENCY } from '../../../src/core/webhook/webhook.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import type { Store } from '../../../src/store/store.js'
import type { TestChronos } from '../../../src/testing.js'
import { LIMITED_STORES } from '../limits/limited.js'
import { good, postbox, quiet, webhookChronos } from './postbox.js'

/** Time passes although deliveries wait for an answer that never comes. */
const HUNG = { despite: 'handlers' } as const
const EVENTS = ['job.succeeded'] as const
const OPTIONS = { log: false, egress: { allow: ['loopback'] } } as const

describe.each(LIMITED_STORES)('limits of webhook endpoints on %s', (_, open) => {
  /** A process, and others that share its store; `most` is how many deliveries had a lease after any claim. */
  function fleet() {
    let store: Store | undefined
    let most = 0
    const watched = (clock: Clock): Store => {
      const opened = open(clock)
      store = {
        ...opened,
        async claim(request) {
          const claim = await opened.claim(request)
          const { value } = await opened.count({ queue: DELIVERIES, state: 'running' }, 1_000)
          most = Math.max(most, value)
          return claim
        },
      }
      return store
    }
    const t = webhookChronos({ store: watched })
    const join = (): Chronos => {
      const shared = async (): Promise<Store> => ({ ...store!, close: async () => undefined })
      const chronos = new Chronos(shared, t.clock, seededDice(2), OPTIONS)
      chronos.work([good], { signals: false })
      return chronos
    }
    return { t, join, store: () => store!, most: () => most }
  }

  async function finish(t: TestChronos, count: number): Promise<void> {
    const done = async (): Promise<number> => (await t.jobs.count({ name: 'good', state: 'succeeded' })).value
    while ((await done()) < count) await t.advance(0, HUNG)
    await t.advance('1s', HUNG)
  }

  const running = async (t: TestChronos): Promise<number> =>
    (await t.jobs.count({ queue: DELIVERIES, state: 'running' })).value

  it('hold over all processes', async () => {
    await using box = await postbox()
    const { t, join, most } = fleet()
    box.answer = () => undefined
    await t.chronos.webhooks.create({ url: box.url, events: EVENTS, concurrency: 3 })
    const other = join()
    await t.enqueueMany(good, Array(40).fill({}))
    await finish(t, 40)
    await box.got(3)
    expect([box.heard.length, await running(t), most()]).toEqual([3, 3, 3])
    // They use no slot, so statistics have them apart.
    expect((await t.chronos.stats()).runningDeliveries).toEqual({ value: 3, relation: 'exact' })
    box.answer = () => 200
    await t.advance('15s', HUNG)
    await t.drain()
    expect(most()).toBe(3)
    expect(new Set(box.heard.map(({ headers }) => headers['webhook-id'])).size).toBe(40)
    await t.clock.passUntil(other.close())
    await t.close()
  })

  it('hold after a crash: the slots of a dead process are free when its leases have expired', async () => {
    await using box = await postbox()
    const { t, store, most } = fleet()
    await t.chronos.webhooks.create({ url: box.url, events: EVENTS, concurrency: 3 })
    await t.queues.pause(DELIVERIES)
    await t.enqueueMany(good, Array(12).fill({}))
    await finish(t, 12)
    await store().setQueue(DELIVERIES, { paused: false })
    const request = {
      workerId: 'crashed',
      token: 't',
      queues: [DELIVERIES],
      limit: 100,
      leaseMs: 60_000,
      policyIds: {},
    }
    expect((await store().claim(request)).jobs).toHaveLength(3)
    await t.queues.resume(DELIVERIES)
    await t.advance('50s')
    expect(box.heard).toHaveLength(0)
    await t.drain()
    expect(new Set(box.heard.map(({ headers }) => headers['webhook-id'])).size).toBe(12)
    expect(most()).toBe(3)
    await t.close()
  })

  it('space the deliveries by a rate', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store: open })
    await t.chronos.webhooks.create({ url: box.url, events: EVENTS, rate: '30/m' })
    const since = t.clock.now()
    await t.enqueueMany(good, Array(4).fill({}))
    await t.drain()
    const at = box.heard.map(({ headers }) => Number(headers['webhook-timestamp']) * 1000 - since)
    expect(at.map(ms => Math.round(ms / 1000))).toEqual([0, 2, 4, 6])
  })

  it('change at run time, in every process, and leave the default when they are removed', async () => {
    await using box = await postbox()
    const { t, join } = fleet()
    box.answer = () => undefined
    const { id } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    const other = join()
    await t.enqueueMany(good, Array(40).fill({}))
    await finish(t, 40)
    expect(await running(t)).toBe(ENDPOINT_CONCURRENCY)
    expect(await other.webhooks.limit(id, { concurrency: 14, rate: '1000/s' })).toMatchObject({ concurrency: 14 })
    await t.advance('1s', HUNG)
    expect(await running(t)).toBe(14)
    expect(await other.webhooks.limit(id, { concurrency: null })).toMatchObject({ rate: '1000/s' })
    expect(await t.chronos.webhooks.get(id)).not.toHaveProperty('concurrency')
    const [queue] = (await t.queues.list()).filter(({ name }) => name === DELIVERIES)
    const override = { [endpointKey(id)]: { rate: '1000/s' } }
    expect(queue?.limits).toEqual({ from: 'code', partitions: { concurrency: ENDPOINT_CONCURRENCY, override } })
    await t.advance('20s', HUNG)
    expect(await running(t)).toBe(ENDPOINT_CONCURRENCY)
    await t.clock.passUntil(other.close(), HUNG)
    await t.close()
  })

  it('are named by what waits for them', async () => {
    await using box = await postbox()
    const { t } = fleet()
    box.answer = () => undefined
    const { id } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS, concurrency: 1 })
    await t.enqueueMany(good, Array(3).fill({}))
    await finish(t, 3)
    const { data } = await t.jobs.list({ queue: DELIVERIES, phase: 'blocked' })
    expect(data).toHaveLength(2)
    expect(data[0]).toMatchObject({ blockedBy: 'limit', partition: endpointKey(id) })
    const words = `its webhook endpoint ${id} runs 1 job, as many as its limit allows`
    expect((await t.jobs.explain(data[0]!.id)).waiting).toMatchObject({ because: 'limit', words })
    expect((await t.queues.partitions(DELIVERIES)).data).toMatchObject([
      { name: endpointKey(id), running: 1, limit: { concurrency: 1 }, override: true, blockedBy: 'limit', words },
    ])
    await t.close()
  })

  it('apply to deliveries that are older than the limits', async () => {
    await using box = await postbox()
    const { t, store, most } = fleet()
    await t.chronos.webhooks.create({ url: box.url, events: EVENTS, concurrency: 2 })
    // As a version without these limits leaves them.
    await store().setQueue(DELIVERIES, { limits: null, paused: true })
    await t.worker.stop()
    const writer = new Chronos(
      async () => ({ ...store(), close: async () => undefined }),
      t.clock,
      seededDice(3),
      OPTIONS,
    )
    const { data } = await writer.webhooks.list()
    for (let count = 0; count < 9; count++) await writer.webhooks.test(data[0]!.id)
    const [delivery] = (await writer.jobs.list({ queue: DELIVERIES })).data
    expect(delivery).not.toHaveProperty('partition')
    await store().setQueue(DELIVERIES, { paused: false })
    t.chronos.work([good], { signals: false })
    await t.drain()
    expect([box.heard.length, most()]).toEqual([9, 2])
    await writer.close()
    await t.close()
  })

  it('are those of the tenant for URLs that jobs name', async () => {
    await using box = await postbox()
    const { t } = fleet()
    box.answer = () => undefined
    const named = (tenantId: string) =>
      t.enqueueMany(good, Array(ENDPOINT_CONCURRENCY + 5).fill({}), { webhook: box.url, tenantId })
    await named('a')
    await named('b')
    await finish(t, 2 * ENDPOINT_CONCURRENCY + 10)
    expect(await running(t)).toBe(2 * ENDPOINT_CONCURRENCY)
    const { data } = await t.queues.partitions(DELIVERIES)
    const origin = new URL(box.url).origin
    expect(data.map(({ name }) => name)).toEqual([`webhook:${origin} a`, `webhook:${origin} b`])
    expect(data[0]?.words).toBe(`its webhook URL ${origin} a runs 10 jobs, as many as its limit allows`)
    await t.close()
  })

  it('are those of the endpoints: an operator sets the limit of all deliveries, and not of partitions', async () => {
    await using t = webhookChronos({ store: open })
    const { webhooks, queues } = t.chronos
    const { id } = await webhooks.create({ url: 'https://a.example', events: EVENTS })
    await expect(queues.set(DELIVERIES, { partitions: { concurrency: 1 } })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: expect.stringContaining('set concurrency and rate of the endpoint') as string,
    })
    await queues.set(DELIVERIES, { limit: { concurrency: 50 } })
    await webhooks.limit(id, { concurrency: 4 })
    const limitsNow = async () => (await queues.list()).find(({ name }) => name === DELIVERIES)?.limits
    const partitions = { concurrency: ENDPOINT_CONCURRENCY, override: { [endpointKey(id)]: { concurrency: 4 } } }
    expect(await limitsNow()).toMatchObject({ from: 'operator', limit: { concurrency: 50 }, partitions })
    await webhooks.delete(id)
    expect((await limitsNow())?.partitions).toEqual({ concurrency: ENDPOINT_CONCURRENCY })
    await queues.set(DELIVERIES, { limit: null, partitions: null })
    await t.advance('1m')
    expect(await limitsNow()).toEqual({ from: 'code', partitions: { concurrency: ENDPOINT_CONCURRENCY } })
  })

  it('return after they were removed, and wrong ones are refused', async () => {
    await using t = webhookChronos({ store: open })
    const { webhooks, queues } = t.chronos
    const { id } = await webhooks.create({ url: 'https://a.example', events: EVENTS, concurrency: 2 })
    await queues.set(DELIVERIES, { limit: null, partitions: null })
    await t.advance('1m')
    const [queue] = (await queues.list()).filter(({ name }) => name === DELIVERIES)
    expect(queue?.limits?.partitions?.override).toEqual({ [endpointKey(id)]: { concurrency: 2 } })
    await expect(webhooks.limit(id, { concurrency: 101 })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await expect(webhooks.limit('wh_none', {})).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

it('a store without partitions sends deliveries without these limits, and refuses them', async () => {
  await using box = await postbox()
  const [, open] = LIMITED_STORES[0]!
  const plain = (clock: Clock): Store => {
    const { partitions: _, ...store } = open(clock)
    return store
  }
  await using t = webhookChronos({ store: plain })
  const settings = { url: box.url, events: EVENTS }
  await expect(t.chronos.webhooks.create({ ...settings, rate: '1/s' })).rejects.toMatchObject({
    code: 'STORE_NOT_SUPPORTED',
  })
  const { id } = await t.chronos.webhooks.create(settings)
  await expect(t.chronos.webhooks.limit(id, { concurrency: 1 })).rejects.toMatchObject({ code: 'STORE_NOT_SUPPORTED' })
  await t.enqueueMany(good, Array(30).fill({}))
  await quiet(t)
  await t.drain()
  expect(box.heard).toHaveLength(30)
})

it('limits of the deliveries queue can not be declared in the code', () => {
  const queues = { [DELIVERIES]: { limit: { concurrency: 1 } } }
  expect(() => webhookChronos({ queues })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})
