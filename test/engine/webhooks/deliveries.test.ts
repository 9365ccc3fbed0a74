import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { STRIKES_MAX } from '../../../src/core/job/lifecycle.js'
import { list } from '../../../src/core/policy/builders.js'
import { mergePolicies } from '../../../src/core/policy/policy.js'
import { PRESETS } from '../../../src/core/policy/presets.js'
import type { Clock } from '../../../src/core/values/clock.js'
import type { Duration } from '../../../src/core/values/duration.js'
import { DELIVERIES } from '../../../src/core/webhook/delivery.js'
import { ENDPOINT_CONCURRENCY } from '../../../src/core/webhook/webhook.js'
import { verifyWebhook } from '../../../src/engine/webhooks/signature.js'
import type { Store } from '../../../src/store/store.js'
import type { TestChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'
import { good, type Postbox, postbox, quiet, webhookChronos } from './postbox.js'

const DAY_MS = 86_400_000

const seconds = (box: Postbox): number[] => {
  const at = box.heard.map(({ headers }) => Number(headers['webhook-timestamp']))
  return at.map(one => one - at[0]!)
}
const ids = (box: Postbox): Set<unknown> => new Set(box.heard.map(({ headers }) => headers['webhook-id']))
const EVENTS = ['job.succeeded'] as const

/** Lets time pass without a worker: every two seconds of it would be a look at the endpoints. */
function withoutWorker(t: TestChronos): (time: Duration) => Promise<void> {
  let { worker } = t
  return async time => {
    await t.clock.passUntil(worker.stop())
    await t.advance(time)
    worker = t.chronos.work([good], { signals: false, maintenance: false })
  }
}

describe.each(STORES)('deliveries on %s', (_, store) => {
  test('are tried again after 30, 60 and 120 seconds, with the same id and the same bytes', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const { secret } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    box.answer = () => (box.heard.length < 4 ? 500 : 204)
    await t.enqueue(good)
    for (const wait of ['0s', '30s', '60s', '120s'] as const) {
      await t.advance(wait)
      await quiet(t)
    }
    expect(seconds(box)).toEqual([0, 30, 90, 210])
    expect(ids(box).size).toBe(1)
    expect(new Set(box.heard.map(({ body }) => body)).size).toBe(1)
    expect(box.heard.map(({ headers }) => headers['x-chronos-attempt'])).toEqual(['1', '2', '3', '4'])
    for (const { body, headers } of box.heard) {
      const now = Number(headers['webhook-timestamp']) * 1000
      expect(verifyWebhook({ body, headers, secret, now }).type).toBe('job.succeeded')
    }
  })

  test('that fail for good are dead letters, and keep their id when they are redriven', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const { id } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    box.answer = () => 404
    await t.enqueue(good)
    for (const wait of ['0s', '30s', '60s', '120s'] as const) {
      await t.advance(wait)
      await quiet(t)
    }
    const [dead] = (await t.chronos.webhooks.deliveries(id, { state: 'dead' })).data
    expect(dead).toMatchObject({ reason: 'exhausted', attempt: 4, error: { name: 'HttpError', status: 404 } })
    expect((await t.chronos.dead.list({ queue: DELIVERIES })).data).toHaveLength(1)
    box.answer = () => 200
    await t.jobs.retry(dead!.id)
    await quiet(t)
    expect(box.heard).toHaveLength(5)
    expect(ids(box).size).toBe(1)
    expect(await t.jobs.get(dead!.id)).toMatchObject({ state: 'succeeded', generation: 2 })
  })

  test('have the lease of their worker, so that a crash delays them no longer than other jobs', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store, work: { lease: '7s' } })
    const { id } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    box.answer = () => undefined
    await t.enqueue(good)
    const sending = t.advance(0)
    await box.got(1)
    const [delivery] = (await t.chronos.webhooks.deliveries(id)).data
    expect(Date.parse(delivery!.lockedUntil!) - t.now().getTime()).toBe(7_000)
    await t.close()
    await sending
  })

  test('never end as poison, however often they were all that a crashed worker ran', async () => {
    await using box = await postbox()
    let opened: Store | undefined
    const open = (clock: Clock): Store => {
      opened = store(clock)
      return opened
    }
    await using t = webhookChronos({ store: open })
    await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    const pause = (paused: boolean): Promise<unknown> => opened!.setQueue(DELIVERIES, { paused })
    await pause(true)
    await opened!.putPolicies([{ id: 'p', policy: JSON.stringify(mergePolicies(PRESETS.webhook)) }])
    await t.enqueue(good)
    await t.advance('1m')
    for (let crashes = 1; crashes <= STRIKES_MAX; crashes++) {
      const request = { token: `t${crashes}`, queues: [DELIVERIES], limit: 1, leaseMs: 1_000 }
      await pause(false)
      const claim = await opened!.claim({
        ...request,
        workerId: `crashed ${crashes}`,
        policyIds: { [DELIVERIES]: 'p' },
      })
      await opened!.begin(claim.jobs.map(({ id, token }) => ({ id, token })))
      await pause(true)
      expect(claim.jobs).toHaveLength(1)
      await t.advance('10m')
    }
    await pause(false)
    await t.advance('10m')
    await quiet(t)
    expect(box.heard).toHaveLength(1)
  })

  test('R34: name the job that they report in their log lines', async () => {
    const lines: Record<string, unknown>[] = []
    const log = pino({ level: 'debug' }, { write: line => void lines.push(JSON.parse(line) as (typeof lines)[0]) })
    await using box = await postbox()
    await using t = webhookChronos({ store, log })
    const endpoint = await t.chronos.webhooks.create({ url: box.url, events: EVENTS, retry: list(['30s', '60s']) })
    box.answer = () => (box.heard.length < 2 ? 500 : 404)
    const { id } = await t.enqueue(good)
    for (const wait of ['0s', '30s', '60s'] as const) await t.advance(wait)
    const [delivery] = (await t.chronos.webhooks.deliveries(endpoint.id)).data
    const about = lines.filter(line => line['jobId'] === delivery!.id)
    expect(about.map(({ event, aboutJobId }) => [event, aboutJobId])).toEqual([
      ['job.retrying', id],
      ['job.retrying', id],
      ['job.dead', id],
    ])
    expect(lines.find(line => line['jobId'] === id)).not.toHaveProperty('aboutJobId')
  })

  test('wait as long as the endpoint asks for', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    box.answer = () => (box.heard.length > 1 ? 200 : { status: 429, headers: { 'retry-after': '300' } })
    await t.enqueue(good)
    await quiet(t)
    await t.advance('299s')
    await quiet(t)
    expect(box.heard).toHaveLength(1)
    // And a little longer, because not all should come back in the same second.
    await t.advance('30s')
    await quiet(t)
    expect(box.heard).toHaveLength(2)
    expect(ids(box).size).toBe(1)
  })

  test('follow the policy of their endpoint, if it has one', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const { id } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS, retry: 'none' })
    box.answer = () => 500
    await t.enqueue(good)
    await quiet(t)
    expect((await t.chronos.webhooks.deliveries(id)).data).toMatchObject([{ state: 'dead', reason: 'exhausted' }])
  })

  test('are not sent on by a redirect', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const { id } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    box.answer = () => ({ status: 302, headers: { location: box.url } })
    await t.enqueue(good)
    await quiet(t)
    expect(box.heard).toHaveLength(1)
    expect((await t.chronos.webhooks.deliveries(id)).data).toMatchObject([{ phase: 'retrying' }])
  })

  test('disable the endpoint when one is answered 410, and notify other endpoints', async () => {
    await using box = await postbox()
    await using other = await postbox()
    await using t = webhookChronos({ store })
    const { webhooks } = t.chronos
    const { id } = await webhooks.create({ url: box.url, events: EVENTS })
    await webhooks.create({ url: other.url, events: ['webhook.disabled'] })
    const heard: unknown[] = []
    t.on('webhook.disabled', event => heard.push(event))
    box.answer = () => (box.heard.length === 1 ? 500 : 410)
    await t.enqueue(good)
    await quiet(t)
    await t.enqueue(good)
    await quiet(t)
    expect(await webhooks.get(id)).toMatchObject({ state: 'disabled', disabledReason: 'gone' })
    expect(heard).toMatchObject([{ endpointId: id, url: box.url, reason: 'gone' }])
    expect(other.bodies()).toMatchObject([{ type: 'webhook.disabled', data: { endpointId: id, reason: 'gone' } }])
    await t.enqueue(good)
    await t.advance('1h')
    await quiet(t)
    expect(box.heard).toHaveLength(2)
    const reasons = (await webhooks.deliveries(id)).data.map(({ reason }) => reason)
    expect(reasons).toEqual(['gone', 'endpoint-disabled'])
  })

  test('start again when their endpoint is enabled, and dead ones can be recovered', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const { webhooks } = t.chronos
    const { id } = await webhooks.create({ url: box.url, events: EVENTS })
    box.answer = () => 410
    await t.enqueue(good)
    await quiet(t)
    await expect(webhooks.test(id)).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await t.advance('1h')
    const since = t.now()
    await webhooks.enable(id)
    await t.enqueue(good)
    await quiet(t)
    expect(await webhooks.get(id)).toMatchObject({ state: 'disabled' })
    box.answer = () => 200
    await webhooks.enable(id)
    await webhooks.recover(id, { since })
    await t.advance('1m')
    await quiet(t)
    expect(box.heard).toHaveLength(3)
    const states = (await webhooks.deliveries(id)).data.map(({ state }) => state)
    expect(states).toEqual(['succeeded', 'dead'])
  })

  test('that fail for five days disable their endpoint; one success in between prevents that', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store, work: { maintenance: false } })
    const { webhooks } = t.chronos
    const { id } = await webhooks.create({ url: box.url, events: EVENTS, retry: 'none' })
    let isWell = false
    box.answer = () => (isWell ? 200 : 503)
    const pass = withoutWorker(t)
    const day = async (): Promise<void> => {
      await t.enqueue(good)
      await quiet(t)
      await pass('1d')
      await quiet(t)
    }
    const first = t.now()
    for (let i = 0; i < 4; i++) await day()
    expect(await webhooks.get(id)).toMatchObject({ state: 'enabled', failingSince: first.toISOString() })
    isWell = true
    await day()
    expect(await webhooks.get(id)).not.toHaveProperty('failingSince')
    isWell = false
    const again = t.now()
    for (let i = 0; i < 5; i++) await day()
    expect(await webhooks.get(id)).toMatchObject({ state: 'enabled', failingSince: again.toISOString() })
    expect(t.now().getTime() - again.getTime()).toBe(5 * DAY_MS)
    await day()
    expect(await webhooks.get(id)).toMatchObject({ state: 'disabled', disabledReason: 'failing' })
  })

  test('are signed with both secrets for a day after one was replaced', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store, work: { maintenance: false } })
    const pass = withoutWorker(t)
    const { id, secret: old } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    const { secret } = await t.chronos.webhooks.rotateSecret(id)
    const send = async () => {
      await t.enqueue(good)
      await quiet(t)
      const { body, headers } = box.heard.at(-1)!
      return (key: string) => verifyWebhook({ body, headers, secret: key, now: t.now() })
    }
    await pass('23h')
    const during = await send()
    expect([during(old).type, during(secret).type]).toEqual(['job.succeeded', 'job.succeeded'])
    await pass('1h')
    const later = await send()
    expect(later(secret).type).toBe('job.succeeded')
    expect(() => later(old)).toThrow(expect.objectContaining({ code: 'SIGNATURE_INVALID' }))
  })

  /** Time passes although deliveries wait for an answer that never comes. */
  const HUNG = { despite: 'handlers' } as const

  test('to one endpoint are few at a time, and one that never answers delays no other', async () => {
    await using slow = await postbox()
    await using fast = await postbox()
    await using t = webhookChronos({ store })
    const { webhooks } = t.chronos
    const { id } = await webhooks.create({ url: slow.url, events: EVENTS, queues: ['default'] })
    const { id: fastId } = await webhooks.create({ url: fast.url, events: EVENTS, queues: ['fast'] })
    slow.answer = () => undefined
    t.chronos.work([good], { queues: ['fast'], signals: false })
    await t.chronos.enqueueMany(good, Array(400).fill({}))
    const isDone = async (): Promise<boolean> =>
      (await t.jobs.count({ name: 'good', state: 'succeeded' })).value === 400
    while (!(await isDone())) await t.advance(0, HUNG)
    await slow.got(ENDPOINT_CONCURRENCY)
    const begun = t.clock.now()
    await t.chronos.enqueueMany(good, Array(20).fill({}), { queue: 'fast' })
    const isSending = async (): Promise<boolean> =>
      (await t.jobs.count({ queue: DELIVERIES, state: 'running', tag: fastId })).value > 0
    while (fast.heard.length < 20) {
      // The fast ones are answered in real time, during which no virtual time passes.
      while (await isSending()) await t.clock.settle(HUNG)
      await t.advance('2ms', HUNG)
    }
    // Not one of the slow ones had given up its place by then.
    expect(t.clock.now() - begun).toBeLessThan(15_000)
    expect(slow.heard).toHaveLength(ENDPOINT_CONCURRENCY)
    expect((await t.jobs.count({ queue: DELIVERIES, state: 'running', tag: id })).value).toBe(ENDPOINT_CONCURRENCY)
    // Those that a worker had claimed are held back like the others.
    expect((await t.jobs.count({ queue: DELIVERIES, phase: 'scheduled', tag: id })).value).toBe(0)
    expect((await t.jobs.count({ queue: DELIVERIES, phase: 'blocked', tag: id })).value).toBeGreaterThan(300)
  })

  test('can be tested', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const { id } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    const delivery = await t.chronos.webhooks.test(id)
    await quiet(t)
    expect(box.bodies()).toMatchObject([{ type: 'webhook.test', data: { endpointId: id } }])
    expect(await t.jobs.get(delivery.id)).toMatchObject({ state: 'succeeded', result: { status: 200 } })
  })

  test('to an endpoint that was given to a tenant since end, because they may be about jobs of another', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const { id } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    box.answer = () => 500
    await t.enqueue(good)
    await quiet(t)
    await t.chronos.webhooks.update(id, { url: box.url, events: EVENTS, tenantId: 'acme' })
    await t.advance('1m')
    await quiet(t)
    expect(box.heard).toHaveLength(1)
    expect((await t.jobs.list({ queue: DELIVERIES })).data).toMatchObject([{ reason: 'endpoint-disabled' }])
  })

  test('to an endpoint that was deleted end', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const { id } = await t.chronos.webhooks.create({ url: box.url, events: EVENTS })
    box.answer = () => 500
    await t.enqueue(good)
    await quiet(t)
    await t.chronos.webhooks.delete(id)
    await t.advance('1m')
    await quiet(t)
    expect(box.heard).toHaveLength(1)
    expect((await t.jobs.list({ queue: DELIVERIES })).data).toMatchObject([{ reason: 'endpoint-disabled' }])
  })
})
