import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { EndpointInput } from '../../../src/core/webhook/webhook.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { memoryStore } from '../../../src/store/memory.js'
import { hear, startReceiver } from '../../support/receiver.js'
import { STORES } from '../../support/stores.js'
import { good, postbox, quiet, webhookChronos } from './postbox.js'

const URL_A = 'https://example.com/a'

describe.each(STORES)('endpoints on %s', (_, store) => {
  test('are created, listed, changed and deleted', async () => {
    await using t = webhookChronos({ store })
    const { webhooks } = t.chronos
    const made = await webhooks.create({ url: URL_A, events: ['job.dead'], queues: ['mail'], tenantId: 'acme' })
    expect(made).toMatchObject({ state: 'enabled', secret: expect.stringMatching(/^whsec_/) })
    const { secret: _secret, ...view } = made
    expect(await webhooks.get(made.id)).toEqual(view)
    const changed = await webhooks.update(made.id, { url: 'https://example.com/b', events: ['job.cancelled'] })
    expect(changed).toMatchObject({
      url: 'https://example.com/b',
      events: ['job.cancelled'],
      createdAt: made.createdAt,
    })
    expect(changed).not.toHaveProperty('queues')
    const other = await webhooks.create({ url: URL_A, events: ['job.dead'] })
    expect((await webhooks.list()).data.map(({ id }) => id)).toEqual([made.id, other.id])
    const first = await webhooks.list({ limit: 1 })
    expect((await webhooks.list({ limit: 1, cursor: first.page.next! })).data).toMatchObject([{ id: other.id }])
    await webhooks.delete(made.id)
    expect((await webhooks.list()).data).toHaveLength(1)
  })

  test.each(['get', 'delete', 'enable', 'disable', 'test', 'rotateSecret', 'deliveries'] as const)(
    '%s of one that there is not says so',
    async verb => {
      await using t = webhookChronos({ store })
      await expect(t.chronos.webhooks[verb]('wh_none')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    },
  )

  test('may not be where the egress rules forbid it', async () => {
    await using t = webhookChronos({ store, egress: {} })
    const input: EndpointInput = { url: 'http://169.254.169.254/latest', events: ['job.dead'] }
    await expect(t.chronos.webhooks.create(input)).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    const webhook = 'http://127.0.0.1/hook'
    await expect(t.enqueue(good, {}, { webhook })).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await expect(t.enqueue(good, {}, { webhook: 'nowhere' })).rejects.toThrow(
      'enqueue "good": webhook: expected an address',
    )
  })

  test('never show their secrets again', async () => {
    const lines: string[] = []
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
    await using box = await postbox()
    await using t = webhookChronos({ store, log })
    const { webhooks } = t.chronos
    const { id, secret } = await webhooks.create({ url: box.url, events: ['job.succeeded'] })
    const { secret: second } = await webhooks.rotateSecret(id)
    box.answer = () => 410
    await t.enqueue(good)
    await quiet(t)
    const deliveries = await webhooks.deliveries(id)
    const logs = await t.jobs.logs(deliveries.data[0]!.id)
    const everything = JSON.stringify([await webhooks.list(), await webhooks.get(id), deliveries, logs, lines])
    expect(lines.length).toBeGreaterThan(0)
    for (const key of [secret, second]) expect(everything).not.toContain(key.slice('whsec_'.length))
  })

  test('are reported as disabled once, even if a delivery succeeds afterwards', async () => {
    const told: string[] = []
    const answers: (number | Promise<number>)[] = []
    await using receiver = await startReceiver(async (request, response) => {
      const { path, body } = await hear(request)
      if (path === '/watch') told.push((JSON.parse(body) as { type: string }).type)
      else response.statusCode = await answers.shift()!
      response.end()
    })
    await using t = webhookChronos({ store })
    const { webhooks } = t.chronos
    const events = ['job.succeeded'] as const
    const { id } = await webhooks.create({ url: `${receiver.origin}/hook`, events, retry: 'none' })
    await webhooks.create({ url: `${receiver.origin}/watch`, events: ['webhook.disabled'] })
    const isDisabled = new Promise<number>(resolve => t.on('webhook.disabled', () => resolve(200)))
    answers.push(500, isDisabled, 410)
    await t.enqueue(good)
    await quiet(t)
    await t.enqueueMany(good, [{}, {}])
    await quiet(t)
    await t.advance('1m')
    const states = (await webhooks.deliveries(id)).data.map(({ state }) => state)
    expect(states.sort()).toEqual(['dead', 'dead', 'succeeded'])
    expect(told).toEqual(['webhook.disabled'])
    expect(await webhooks.get(id)).toMatchObject({ state: 'disabled', failingSince: expect.any(String) })
  })
})

test('an endpoint that another process created is seen, and any process can send its deliveries', async () => {
  await using box = await postbox()
  await using t = webhookChronos({ store: clock => shared(clock) })
  const { clock } = t
  function shared(virtual: typeof clock) {
    stored ??= memoryStore({ clock: virtual })
    return stored
  }
  await t.enqueue(good)
  await quiet(t)
  const other = new Chronos(async () => ({ ...stored!, close: async () => {} }), clock, seededDice(2), {
    log: false,
    egress: { allow: ['loopback'] },
  })
  await other.webhooks.create({ url: box.url, events: ['job.succeeded', 'job.cancelled'] })
  await t.advance('10m')
  await t.enqueue(good)
  await quiet(t)
  expect(box.bodies()).toMatchObject([{ type: 'job.succeeded' }])
  const { id } = await t.enqueue(good, {}, { delay: '1d' })
  await other.jobs.cancel(id)
  await t.advance('1h')
  await quiet(t)
  expect(box.bodies()).toMatchObject([{ type: 'job.succeeded' }, { type: 'job.cancelled', data: { jobId: id } }])
  await other.close()
})

test('an endpoint that another process just enabled gets the deliveries that this one sends', async () => {
  await using box = await postbox()
  let store: ReturnType<typeof memoryStore> | undefined
  await using t = webhookChronos({ store: clock => (store ??= memoryStore({ clock })) })
  const { id } = await t.chronos.webhooks.create({ url: box.url, events: ['job.dead'] })
  await t.advance('20s')
  await t.chronos.webhooks.disable(id)
  const other = new Chronos(async () => ({ ...store!, close: async () => {} }), t.clock, seededDice(2), {
    log: false,
    egress: { allow: ['loopback'] },
  })
  await other.webhooks.enable(id)
  const delivery = await other.webhooks.test(id)
  // Another delivery wakes this process before it reads the endpoints again.
  await t.enqueue(good, {}, { webhook: box.url })
  await quiet(t)
  expect(await t.jobs.get(delivery.id)).toMatchObject({ state: 'succeeded' })
  expect(box.bodies().map(({ type }) => type)).toContain('webhook.test')
  await other.close()
})

let stored: ReturnType<typeof memoryStore> | undefined
