import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import type { Clock } from '../../../src/core/values/clock.js'
import { ChronosError } from '../../../src/core/values/error.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import type { OpenTelemetry } from '../../../src/engine/figures/tracing.js'
import { createChronos } from '../../../src/index.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { Store } from '../../../src/store/store.js'
import { testChronos } from '../../../src/testing.js'
import { startTracing, type Traced } from '../../support/opentelemetry.js'
import { hear, startReceiver } from '../../support/receiver.js'
import { STORES } from '../../support/stores.js'
import { quiet } from '../webhooks/postbox.js'

let traced: Traced

beforeEach(() => {
  traced = startTracing()
})
afterEach(() => traced[Symbol.dispose]())

const mail = defineJob({
  name: 'mail',
  queue: 'mails',
  retry: fixed({ delay: '30s', maxRetries: 3, jitter: 'none' }),
  async run(failures: number, job) {
    if (job.attempt <= failures) throw Object.assign(new Error('SMTP said 421'), { code: 'ECONNRESET' })
  },
})

const idsOf = (span: ReadableSpan) => ({ traceId: span.spanContext().traceId, spanId: span.spanContext().spanId })

describe.each(STORES)('a traced job on %s', (_, open) => {
  it('has one span where it was sent and one for each attempt, linked to it', async () => {
    const t = testChronos({ jobs: [mail], store: open, tracing: traced.api })
    const { id } = await t.enqueue(mail, 1)
    await t.drain()
    await t.close()

    const [send] = traced.spans('send mails')
    expect(send).toMatchObject({
      kind: SpanKind.PRODUCER,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'messaging.system': 'chronos',
        'messaging.destination.name': 'mails',
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'messaging.message.id': id,
        'chronos.job.name': 'mail',
      },
    })
    const [failed, succeeded] = traced.spans('process mails')
    expect(failed).toMatchObject({
      kind: SpanKind.CONSUMER,
      status: { code: SpanStatusCode.ERROR, message: 'SMTP said 421' },
      attributes: {
        'messaging.system': 'chronos',
        'messaging.destination.name': 'mails',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.message.id': id,
        'error.type': 'ECONNRESET',
        'chronos.job.name': 'mail',
        'chronos.job.attempt': 1,
        'chronos.job.max_attempts': 4,
        'chronos.job.outcome': 'failed',
        'chronos.retry.delay_ms': 30_000,
        'chronos.error.fingerprint': expect.stringMatching(/./),
      },
    })
    expect(succeeded).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'chronos.job.attempt': 2, 'chronos.job.outcome': 'succeeded' },
    })
    expect(succeeded!.attributes).not.toHaveProperty('error.type')
    for (const span of [failed!, succeeded!]) {
      expect(span.links).toHaveLength(1)
      expect(span.links[0]!.context).toMatchObject(idsOf(send!))
      expect(span.parentSpanContext).toBeUndefined()
      expect(span.spanContext().traceId).not.toBe(send!.spanContext().traceId)
    }
  })

  it('keeps the trace, and no baggage; a job without tracing keeps nothing', async () => {
    let store: Store | undefined
    const opened = (clock: Parameters<typeof open>[0]): Store => {
      store = open(clock)
      return store
    }
    const t = testChronos({ jobs: [mail], store: opened, tracing: traced.api })
    const { id } = await t.enqueue(mail, 0)
    expect(JSON.parse((await store!.get(id))!.trace!)).toEqual({
      traceparent: expect.stringMatching(/^00-\w{32}-\w{16}-01$/),
    })
    await t.close()

    const plain = testChronos({ jobs: [mail], store: opened })
    const { id: untraced } = await plain.enqueue(mail, 0)
    expect(await store!.get(untraced)).not.toHaveProperty('trace')
    await plain.close()
  })
})

describe.each(STORES)('the history of a traced job on %s', (_, open) => {
  it('has the trace of each attempt, also of a success', async () => {
    await using t = testChronos({ jobs: [mail], store: open, tracing: traced.api })
    const { id } = await t.enqueue(mail, 1)
    await t.drain()
    const { data } = await t.jobs.history(id, { order: 'oldest' })
    const spans = traced.spans('process mails').map(span => span.spanContext().traceId)
    expect(data.map(({ status, traceId }) => [status, traceId])).toEqual([
      ['failed', spans[0]],
      ['succeeded', spans[1]],
    ])
    expect(data.map(({ decision }) => Object.keys(decision!))).not.toContainEqual(expect.arrayContaining(['traceId']))
    expect(data[1]!.decision!.why).toBe('succeeded at retry 1')
  })

  it('has no trace that is not sampled, and none without tracing', async () => {
    const { api } = traced
    const unsampled = (span: Span): Span => {
      const context = { ...span.spanContext(), traceFlags: 0 }
      return Object.assign(Object.create(span) as Span, { spanContext: () => context })
    }
    const tracer = (name: string) => ({
      startSpan: (...given: Parameters<Tracer['startSpan']>) =>
        unsampled(api.trace.getTracer(name).startSpan(...given)),
    })
    const trace = {
      ...api.trace,
      getTracer: tracer,
      setSpan: api.trace.setSpan,
      getSpanContext: api.trace.getSpanContext,
    }
    for (const tracing of [{ ...api, trace } as unknown as OpenTelemetry, undefined]) {
      await using t = testChronos({ jobs: [mail], store: open, ...(tracing && { tracing }) })
      const { id } = await t.enqueue(mail, 1)
      await t.drain()
      const { data } = await t.jobs.history(id)
      expect(data.map(({ status }) => status)).toEqual(['succeeded', 'failed'])
      expect(data.flatMap(({ traceId }) => traceId ?? [])).toEqual([])
    }
  })
})

describe('a span where jobs are sent', () => {
  it('is a child of the active span', async () => {
    const t = testChronos({ jobs: [mail], tracing: traced.api })
    const tracer = traced.api.trace.getTracer('shop')
    await tracer.startActiveSpan('POST /orders', async span => {
      await t.enqueue(mail, 0)
      span.end()
    })
    const [request] = traced.spans('POST /orders')
    expect(traced.spans('send mails')[0]!.parentSpanContext).toMatchObject(idsOf(request!))
    await t.close()
  })

  it('is one for a batch', async () => {
    const t = testChronos({ jobs: [mail], tracing: traced.api })
    await t.enqueueMany(mail, [0, 0, 0])
    await t.drain()
    const [send, ...more] = traced.spans('send mails')
    expect(more).toEqual([])
    expect(send!.attributes).toMatchObject({ 'messaging.batch.message_count': 3 })
    expect(traced.spans('process mails').map(span => span.links[0]!.context.spanId)).toEqual(
      Array(3).fill(send!.spanContext().spanId),
    )
    await t.close()
  })

  it('says that it failed', async () => {
    const full = (clock: Clock): Store => {
      const store = memoryStore({ clock })
      store.enqueue = () => Promise.reject(new ChronosError('STORE_FULL', 'the disk is full'))
      return store
    }
    const t = testChronos({ jobs: [mail], tracing: traced.api, store: full })
    await expect(t.enqueue(mail, 0)).rejects.toThrow('the disk is full')
    expect(traced.spans('send mails')[0]).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'the disk is full' },
      attributes: { 'error.type': 'STORE_FULL' },
    })
    await t.close()
  })
})

describe('a handler', () => {
  it('runs inside the span of its attempt, and not inside that of the code that started the worker', async () => {
    const tracer = traced.api.trace.getTracer('shop')
    const job = defineJob({
      name: 'thumbnail',
      async run(_: unknown) {
        await Promise.resolve()
        tracer.startSpan('resize').end()
      },
    })
    const t = tracer.startActiveSpan('start of the server', () => testChronos({ jobs: [job], tracing: traced.api }))
    await t.enqueue(job)
    await t.drain()
    const [attempt] = traced.spans('process default')
    expect(traced.spans('resize')[0]!.parentSpanContext).toMatchObject(idsOf(attempt!))
    expect(attempt!.parentSpanContext).toBeUndefined()
    await t.close()
  })

  it('that dies has the reason on its span; one that snoozes has no error', async () => {
    const job = defineJob({
      name: 'ship',
      retry: 'none',
      async run(stays: boolean, context) {
        if (stays && context.run === 1) return context.snooze('5s')
        throw new Error('no')
      },
    })
    const t = testChronos({ jobs: [job], tracing: traced.api })
    await t.enqueue(job, true)
    await t.drain()
    const [snoozed, died] = traced.spans('process default')
    expect(snoozed).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'chronos.job.outcome': 'snoozed', 'chronos.retry.delay_ms': 5_000 },
    })
    expect(died).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'chronos.job.reason': 'exhausted', 'error.type': 'Error' },
      events: [{ name: 'exception', attributes: { 'exception.message': 'no' } }],
    })
    await t.close()
  })
})

describe('an HTTP job', () => {
  it('sends the trace context of its attempt, unless the request sets its own', async () => {
    const heard: (string | string[] | undefined)[] = []
    await using receiver = await startReceiver(async (request, response) => {
      const { headers } = await hear(request)
      heard.push(headers['traceparent'], headers['baggage'])
      response.writeHead(200).end()
    })
    const t = testChronos({ jobs: [], egress: { allow: ['loopback'] }, tracing: traced.api })
    await t.chronos.http({ url: receiver.origin })
    await quiet(t)
    const own = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await t.chronos.http({ url: receiver.origin, headers: { traceparent: own } })
    await quiet(t)
    const { traceId, spanId } = idsOf(traced.spans('process default')[0]!)
    expect(heard).toEqual([`00-${traceId}-${spanId}-01`, undefined, own, undefined])
    await t.close()
  })
})

describe("an HTTP job under OpenTelemetry's instrumentation of undici", () => {
  it.each([
    ['the request', { headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } }],
    ['the attempt', { headers: undefined }],
  ])('sends one traceparent, that of %s', async (_, { headers }) => {
    const foreign = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
    // As the instrumentation does it, whenever it was loaded.
    const instrument = (message: unknown): void => {
      const { request } = message as { request: { addHeader(name: string, value: string): void } }
      request.addHeader('traceparent', foreign)
      request.addHeader('tracestate', 'of=the-instrumentation')
    }
    const heard: string[] = []
    await using receiver = await startReceiver((request, response) => {
      heard.push(...request.rawHeaders)
      response.writeHead(200).end()
    })
    const t = testChronos({ jobs: [], egress: { allow: ['loopback'] }, tracing: traced.api })
    subscribe('undici:request:create', instrument)
    onTestFinished(() => void unsubscribe('undici:request:create', instrument))
    await t.chronos.http({ url: receiver.origin, ...(headers && { headers }) })
    await quiet(t)
    const sent = heard.filter((_, index) => heard[index - 1]?.toLowerCase() === 'traceparent')
    const { traceId, spanId } = idsOf(traced.spans('process default')[0]!)
    expect(sent).toEqual([headers?.traceparent ?? `00-${traceId}-${spanId}-01`])
    expect(heard).toContain('of=the-instrumentation')
    await t.close()
  })
})

describe('the option', () => {
  it('requires the module', () => {
    const wrong = { trace: {} } as unknown as OpenTelemetry
    expect(() => createChronos({ store: 'memory:', tracing: wrong })).toThrow(
      "tracing: expected the module @opentelemetry/api (import * as api from '@opentelemetry/api')",
    )
  })

  it('harms no job where tracing itself is broken', async () => {
    const broken = {
      ...traced.api,
      trace: {
        ...traced.api.trace,
        getTracer: () => {
          throw new Error('no exporter')
        },
      },
    } as unknown as OpenTelemetry
    const t = testChronos({ jobs: [mail], tracing: broken })
    const { id } = await t.enqueue(mail, 1)
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 2 })
    await t.close()
  })

  it('costs nothing where OpenTelemetry is not set up', async () => {
    traced[Symbol.dispose]()
    const t = testChronos({ jobs: [mail], tracing: traced.api })
    const { id } = await t.enqueue(mail, 1)
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded' })
    expect(traced.spans()).toEqual([])
    await t.close()
  })
})
