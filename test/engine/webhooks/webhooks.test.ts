import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { DELIVERIES } from '../../../src/core/webhook/delivery.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { verifyWebhook } from '../../../src/engine/webhooks/signature.js'
import { STORES } from '../../support/stores.js'
import { bad, good, postbox, quiet, webhookChronos } from './postbox.js'

describe.each(STORES)('webhooks on %s', (_, store) => {
  test('an endpoint gets a signed message when a job ends', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const { secret, id } = await t.chronos.webhooks.create({ url: box.url, events: ['job.succeeded'] })
    const job = await t.enqueue(good, {}, { key: 'order-1', tags: ['a'] })
    await quiet(t)
    const [heard] = box.heard
    expect(box.bodies()).toMatchObject([
      {
        type: 'job.succeeded',
        timestamp: t.now().toISOString(),
        data: { jobId: job.id, name: 'good', state: 'succeeded', key: 'order-1', attempt: 1, result: { ok: true } },
      },
    ])
    expect(heard).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } })
    expect(heard!.headers['webhook-id']).toMatch(/^msg_[0-9a-f]{32}$/)
    const message = verifyWebhook({ body: heard!.body, headers: heard!.headers, secret, now: t.now() })
    expect(message).toMatchObject({ id: heard!.headers['webhook-id'], type: 'job.succeeded', sentAt: t.now() })
    const signed = new Webhook(secret).sign(message.id, t.now(), heard!.body)
    expect(heard!.headers['webhook-signature']).toBe(signed)
    expect((await t.chronos.webhooks.deliveries(id)).data).toMatchObject([{ state: 'succeeded', queue: DELIVERIES }])
  })

  const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

  test('an endpoint signs with the secret that was given', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const events = ['job.succeeded'] as const
    const { secret, id } = await t.chronos.webhooks.create({ url: box.url, events, secret: SECRET })
    expect(secret).toBe(SECRET)
    await t.enqueue(good, {})
    await quiet(t)
    const verify = (given: string) =>
      verifyWebhook({ body: box.heard.at(-1)!.body, headers: box.heard.at(-1)!.headers, secret: given, now: t.now() })
    expect(verify(SECRET).type).toBe('job.succeeded')
    const next = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    expect(JSON.stringify(await t.chronos.webhooks.update(id, { url: box.url, events, secret: next }))).not.toContain(
      next,
    )
    await t.enqueue(good, {})
    await quiet(t)
    for (const each of [SECRET, next]) expect(verify(each).type).toBe('job.succeeded')
    const short = { url: box.url, events, secret: 'whsec_short' }
    await expect(t.chronos.webhooks.create(short)).rejects.toThrow('secret: expected `whsec_` and 16 to 128 bytes')
  })

  test('a configured secret signs the messages to addresses of jobs', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store, webhookSecret: SECRET })
    await t.enqueue(good, {}, { webhook: box.url })
    await quiet(t)
    const [{ body, headers }] = box.heard as [(typeof box.heard)[number]]
    expect(verifyWebhook({ body, headers, secret: SECRET, now: t.now() }).type).toBe('job.succeeded')
    await expect(t.chronos.webhooks.rotateSecret('per-job')).rejects.toThrow('is configured; change `webhookSecret`')
  })

  test('a job may name its own address', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    const { secret } = await t.chronos.webhooks.rotateSecret('per-job')
    const { id } = await t.enqueue(bad, {}, { webhook: box.url, tenantId: 'acme' })
    await quiet(t)
    expect(box.bodies()).toMatchObject([
      {
        type: 'job.dead',
        data: { jobId: id, tenantId: 'acme', reason: 'exhausted', error: { name: 'Error', message: 'no' } },
      },
    ])
    const [{ body, headers }] = box.heard as [(typeof box.heard)[0]]
    expect(verifyWebhook({ body, headers, secret, now: t.now() }).type).toBe('job.dead')
    expect(body).not.toContain('stack')
  })

  describe('are sent for every way in which a job ends:', () => {
    const stubborn = defineJob({
      name: 'stubborn',
      run: (_: unknown, { signal }) =>
        new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const retried = defineJob({
      name: 'retried',
      retry: fixed({ delay: '1h', maxRetries: 5, jitter: 'none' }),
      async run(_: unknown) {
        throw new Error('not yet')
      },
    })
    type T = ReturnType<typeof webhookChronos>
    const DOORS: [string, (t: T, webhook: string) => Promise<unknown>, object[]][] = [
      ['success', (t, webhook) => t.enqueue(good, {}, { webhook }), [{ type: 'job.succeeded' }]],
      ['death', (t, webhook) => t.enqueue(bad, {}, { webhook }), [{ type: 'job.dead', data: { reason: 'exhausted' } }]],
      [
        'cancel of a waiting job',
        async (t, webhook) => t.jobs.cancel((await t.enqueue(good, {}, { webhook, delay: '1d' })).id),
        [{ type: 'job.cancelled', data: { state: 'cancelled', attempt: 0, run: 0 } }],
      ],
      [
        'cancel of a running job',
        async (t, webhook) => {
          const { id } = await t.enqueue(stubborn, {}, { webhook })
          await t.advance('1s', { despite: 'handlers' })
          await t.jobs.cancel(id)
          await t.advance('1s', { despite: 'handlers' })
        },
        [{ type: 'job.cancelled', data: { state: 'cancelled', run: 1 } }],
      ],
      [
        'cancel of a job that waits for a retry',
        async (t, webhook) => {
          const { id } = await t.enqueue(retried, {}, { webhook })
          await t.advance('1s')
          await t.jobs.cancel(id)
        },
        [{ type: 'job.cancelled', data: { attempt: 1, error: { message: 'not yet' } } }],
      ],
      [
        'a deadline',
        async (t, webhook) => {
          await t.enqueue(good, {}, { webhook, delay: '2h', deadline: '1h' })
          await t.advance('61m')
        },
        [{ type: 'job.dead', data: { reason: 'expired', run: 0 } }],
      ],
      [
        'discard of a dead letter',
        async (t, webhook) => {
          await t.enqueue(bad, {}, { webhook })
          await quiet(t)
          await t.chronos.dead.discard({ name: 'bad' })
        },
        [
          { type: 'job.dead', data: { reason: 'exhausted' } },
          { type: 'job.dead', data: { reason: 'discarded', error: { message: 'no' } } },
        ],
      ],
    ]

    test.each(DOORS)('%s', async (_name, end, messages) => {
      await using box = await postbox()
      await using t = webhookChronos({ store, jobs: [good, bad, stubborn, retried] })
      await end(t, box.url)
      await quiet(t)
      expect(box.bodies()).toMatchObject(messages)
    })
  })

  test('an endpoint gets events of its own queues, names and tenant only, and retries if it subscribes to them', async () => {
    const again = defineJob({
      name: 'again',
      queue: 'other',
      retry: fixed({ delay: '1m', maxRetries: 1, jitter: 'none' }),
      async run(_: unknown) {
        throw new Error('no')
      },
    })
    await using box = await postbox()
    await using t = webhookChronos({ store, jobs: [good, again] })
    const { webhooks } = t.chronos
    const url = (path: string): string => box.url.replace('/hook', path)
    await webhooks.create({ url: url('/tenant'), events: ['job.succeeded', 'job.dead'], tenantId: 'acme' })
    await webhooks.create({ url: url('/queue'), events: ['job.succeeded', 'job.dead'], queues: ['other'] })
    await webhooks.create({ url: url('/name'), events: ['job.succeeded', 'job.dead'], names: ['good'] })
    await webhooks.create({ url: url('/retries'), events: ['job.retrying'] })
    await t.enqueue(good, {}, { tenantId: 'acme' })
    await t.enqueue(good, {}, { tenantId: 'globex' })
    await t.enqueue(again)
    await quiet(t)
    await t.advance('1m')
    await quiet(t)
    const heard = box.heard.map(({ path, body }) => `${path} ${(JSON.parse(body) as { type: string }).type}`)
    expect(heard.sort()).toEqual([
      '/name job.succeeded',
      '/name job.succeeded',
      '/queue job.dead',
      '/retries job.retrying',
      '/tenant job.succeeded',
    ])
  })

  test('deliveries raise no events and are not counted as jobs of a worker', async () => {
    await using box = await postbox()
    await using t = webhookChronos({ store })
    await t.chronos.webhooks.create({ url: box.url, events: ['job.succeeded', 'job.dead', 'job.cancelled'] })
    const events: string[] = []
    for (const name of ['job.enqueued', 'job.started', 'job.succeeded'] as const) {
      t.on(name, event => events.push(`${name} ${'job' in event ? event.job.name : event.name}`))
    }
    await t.enqueue(good)
    await quiet(t)
    expect(events).toEqual(['job.enqueued good', 'job.started good', 'job.succeeded good'])
    expect(box.heard).toHaveLength(1)
    expect(t.worker.getStats()).toMatchObject({ succeeded: 1 })
  })

  test('an event without an endpoint makes no delivery', async () => {
    await using t = webhookChronos({ store })
    await t.chronos.webhooks.create({ url: 'https://example.com/', events: ['job.cancelled'] })
    await t.enqueue(good)
    await quiet(t)
    expect((await t.jobs.count({ queue: DELIVERIES })).value).toBe(0)
  })
})
