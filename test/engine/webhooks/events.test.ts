import { expect, test } from 'vitest'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { Store } from '../../../src/store/store.js'
import { good, postbox, quiet, webhookChronos } from './postbox.js'

const needing = (dependsOn: string) =>
  defineJob({ name: 'needing', dependsOn, retry: { circuit: true }, run: async (_: unknown) => undefined })

test('circuit changes and skipped occurrences are sent to endpoints that subscribe to them', async () => {
  const slow = defineJob({
    name: 'slow',
    run: (_: unknown, { signal }) =>
      new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  const pays = needing('https://pay.example')
  await using box = await postbox()
  await using t = webhookChronos({ jobs: [slow, pays] })
  const { webhooks, circuits, schedules } = t.chronos
  await webhooks.create({ url: box.url, events: ['circuit.opened', 'circuit.closed', 'schedule.skipped'] })
  await t.enqueue(pays, null)
  await t.advance('1s')
  await circuits.open('https://pay.example')
  await quiet(t)
  await circuits.close('https://pay.example')
  await quiet(t)
  await schedules.put('often', { every: '1m', job: slow, payload: null })
  await t.advance('2m', { despite: 'handlers' })
  await box.got(3)
  expect(box.bodies()).toMatchObject([
    { type: 'circuit.opened', data: { key: 'https://pay.example' } },
    { type: 'circuit.closed', data: { key: 'https://pay.example' } },
    { type: 'schedule.skipped', data: { scheduleId: 'often', skipped: 1 } },
  ])
})

test('circuit changes of webhook endpoints are not sent', async () => {
  await using box = await postbox()
  const job = needing('webhook:wh_1')
  await using t = webhookChronos({ jobs: [job] })
  await t.chronos.webhooks.create({ url: box.url, events: ['circuit.opened'] })
  await t.enqueue(job, null)
  await t.advance('1s')
  await t.chronos.circuits.open('webhook:wh_1')
  await quiet(t)
  expect(box.heard).toEqual([])
})

test('the outcome of a job whose worker vanished is sent by the process that finds it', async () => {
  let store: Store | undefined
  const open: NonNullable<Parameters<typeof webhookChronos>[0]>['store'] = clock => {
    store ??= memoryStore({ clock })
    return store
  }
  await using box = await postbox()
  await using t = webhookChronos({ store: open, work: { queues: ['elsewhere'] } })
  const { id } = await t.enqueue(good, {}, { webhook: box.url, delivery: 'at-most-once' })
  const request = {
    workerId: 'gone',
    token: 'a'.repeat(32),
    queues: ['default'],
    limit: 1,
    leaseMs: 1000,
    policyIds: {},
  }
  const [claimed] = (await store!.claim(request)).jobs
  await store!.begin([{ id, token: claimed!.token, delivery: 'at-most-once' }])
  await t.advance('3h')
  await quiet(t)
  expect(box.bodies()).toMatchObject([
    { type: 'job.dead', data: { jobId: id, reason: 'unknown-outcome', error: { name: 'WorkerLost' } } },
  ])
})

test('a worker that can’t read the endpoints starts nothing until it can', async () => {
  let isAway = true
  const open: NonNullable<Parameters<typeof webhookChronos>[0]>['store'] = clock => {
    const store = memoryStore({ clock })
    const records: Store['records'] = async (kind, query) => {
      if (isAway && kind === 'webhook') throw new Error('away')
      return store.records(kind, query)
    }
    return { ...store, records }
  }
  await using t = webhookChronos({ store: open })
  const { id } = await t.enqueue(good)
  await t.advance('1m')
  expect(await t.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })
  isAway = false
  await t.advance('10s')
  expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded' })
})

test('a delivery that is due waits for a worker only where there is none', async () => {
  let store: Store | undefined
  const open: NonNullable<Parameters<typeof webhookChronos>[0]>['store'] = clock => {
    store ??= memoryStore({ clock })
    return store
  }
  const t = webhookChronos({ store: open })
  await t.advance('1s')
  const elsewhere = new Chronos(async () => ({ ...store!, close: async () => {} }), t.clock, seededDice(2), {
    log: false,
  })
  const { id } = await elsewhere.webhooks.create({ url: 'https://example.com/', events: ['job.dead'] })
  const delivery = await elsewhere.webhooks.test(id)
  const because = async () => (await elsewhere.jobs.explain(delivery.id)).waiting?.because
  expect(await because()).toBe('due')
  await t.worker.stop()
  await t.advance('1s')
  expect(await because()).toBe('no-worker')
  await elsewhere.close()
  await t.close()
})
