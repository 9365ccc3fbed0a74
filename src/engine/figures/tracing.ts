import type { StoredError } from '../../core/job/job.js'
import { ChronosError, shown } from '../../core/values/error.js'
import type { NewJob, Settlement } from '../../store/store.js'
import type { Attempt } from '../worker/attempt.js'

// The parts of OpenTelemetry that are used here, as structural types, so that applications without tracing need neither
// its package nor its types.

export interface OpenTelemetry {
  readonly trace: {
    getTracer(name: string): TracerOf
    setSpan(context: unknown, span: SpanOf): unknown
    getSpanContext(context: unknown): unknown
  }
  readonly context: {
    active(): unknown
    with(context: unknown, run: () => unknown): unknown
  }
  readonly propagation: {
    inject(context: unknown, carrier: object): void
    extract(context: unknown, carrier: object): unknown
  }
  readonly ROOT_CONTEXT: unknown
}

interface TracerOf {
  startSpan(name: string, options: SpanOptions, context: unknown): SpanOf
}

interface SpanOptions {
  readonly kind: number
  readonly attributes: Attributes
  readonly links?: { readonly context: never }[]
}

interface SpanOf {
  spanContext(): { readonly traceId: string; readonly traceFlags: number }
  setAttributes(attributes: Attributes): unknown
  setStatus(status: { readonly code: number; readonly message?: string }): unknown
  recordException(exception: { readonly name: string; readonly message: string; readonly stack?: string }): void
  end(): void
}

type Attributes = Record<string, string | number>
type Headers = Readonly<Record<string, string>>

const PRODUCER = 3
const CONSUMER = 4
const STATUS_ERROR = 2
const SAMPLED = 1
const TRACE_ID = /^[0-9a-f]{32}$/
/** A trace context has at most a little more than 512 characters; longer ones are not stored with jobs. */
const TRACE_LENGTH_MAX = 1_000

export function tracingOf(api: OpenTelemetry | undefined): Tracing | undefined {
  if (api === undefined) return undefined
  const known = [api?.trace?.getTracer, api?.context?.with, api?.propagation?.inject]
  if (known.every(each => typeof each === 'function')) return new Tracing(api)
  throw new ChronosError(
    'INVALID_OPTION',
    `createChronos: tracing: expected the module @opentelemetry/api (import * as api from '@opentelemetry/api'), got ${shown(api)}`,
  )
}

/** Spans by the messaging conventions: `send` for an enqueue, and `process` for every attempt, linked to it. */
export class Tracing {
  readonly #api: OpenTelemetry
  readonly #spans = new WeakMap<object, SpanOf>()

  constructor(api: OpenTelemetry) {
    this.#api = api
  }

  /** Stores the jobs together with the context of the `send` span. */
  async send<T>(jobs: readonly NewJob[], store: (traced: readonly NewJob[]) => Promise<T>): Promise<T> {
    const sending = safely(() => this.#sending(jobs))
    if (!sending) return store(jobs)
    const { span, trace } = sending
    try {
      return await store(trace === undefined ? jobs : jobs.map(job => ({ ...job, trace })))
    } catch (error) {
      safely(() => {
        const { name, message } = error instanceof Error ? error : new Error(String(error))
        span.setAttributes({ 'error.type': error instanceof ChronosError ? error.code : name })
        span.setStatus({ code: STATUS_ERROR, message })
      })
      throw error
    } finally {
      safely(() => span.end())
    }
  }

  started(attempt: Attempt): void {
    const span = safely(() => this.#processing(attempt))
    if (!span) return
    this.#spans.set(attempt, span)
    attempt.traceId = safely(() => sampledTrace(span))
  }

  within<T>(attempt: Attempt, run: () => T): T {
    const span = this.#spans.get(attempt)
    if (!span) return run()
    return this.#api.context.with(this.#api.trace.setSpan(this.#api.ROOT_CONTEXT, span), run) as T
  }

  ended(attempt: Attempt, { end }: Settlement): void {
    if (end.kind !== 'ended') return
    const { transition, error, group } = end
    const { status, to, delayMs, reason } = transition
    const attributes = {
      'chronos.job.outcome': status,
      ...(to === 'waiting' && { 'chronos.retry.delay_ms': delayMs }),
      ...(reason !== undefined && { 'chronos.job.reason': reason }),
      ...(group && { 'chronos.error.fingerprint': group.fingerprint }),
    }
    this.#end(attempt, attributes, error)
  }

  lost(attempt: Attempt): void {
    const error = { name: 'LeaseLost', message: 'its lease was lost', code: 'LEASE_LOST' }
    this.#end(attempt, { 'chronos.job.outcome': 'lost' }, error)
  }

  /** Headers that propagate the span of an attempt to another service. */
  headersOf(job: object): Headers {
    const span = this.#spans.get(job)
    return (span && safely(() => this.#headers(this.#api.trace.setSpan(this.#api.ROOT_CONTEXT, span)))) ?? {}
  }

  #sending(jobs: readonly NewJob[]): { readonly span: SpanOf; readonly trace?: string } | undefined {
    const { trace, context } = this.#api
    const [first] = jobs
    if (!first) return undefined
    const { queue, name, id } = first
    const size = jobs.length === 1 ? { 'messaging.message.id': id } : { 'messaging.batch.message_count': jobs.length }
    const attributes = { ...placeOf('send', queue, name), ...size }
    const active = context.active()
    const span = this.#tracer.startSpan(`send ${queue}`, { kind: PRODUCER, attributes }, active)
    const text = JSON.stringify(this.#headers(trace.setSpan(active, span)))
    return { span, ...(text !== '{}' && text.length <= TRACE_LENGTH_MAX && { trace: text }) }
  }

  /** Each attempt has its own trace, because one that spans days of retries would be unreadable. */
  #processing(attempt: Attempt): SpanOf {
    const { queue, name, id, maxAttempts, run, claimed } = attempt
    const attributes = {
      ...placeOf('process', queue, name),
      'messaging.message.id': id,
      'chronos.job.attempt': attempt.attempt,
      'chronos.job.max_attempts': maxAttempts,
      'chronos.job.run': run,
    }
    const links = this.#linksOf(claimed.trace)
    // The active context belongs to the code that started the worker, so it is not the parent.
    const { ROOT_CONTEXT } = this.#api
    return this.#tracer.startSpan(`process ${queue}`, { kind: CONSUMER, attributes, links }, ROOT_CONTEXT)
  }

  get #tracer(): TracerOf {
    // Read each time, so that OpenTelemetry may be set up later.
    return this.#api.trace.getTracer('chronos-jobs')
  }

  /** Without baggage: details of a user's request must not be stored with jobs. */
  #headers(context: unknown): Headers {
    const carrier: Record<string, string> = {}
    this.#api.propagation.inject(context, carrier)
    const { baggage: _, ...headers } = carrier
    return headers
  }

  #linksOf(trace: string | undefined): { context: never }[] {
    if (trace === undefined) return []
    const { propagation, trace: spans, ROOT_CONTEXT } = this.#api
    // A damaged context must not prevent tracing of the attempt.
    const context = safely(() => spans.getSpanContext(propagation.extract(ROOT_CONTEXT, JSON.parse(trace) as object)))
    return context ? [{ context: context as never }] : []
  }

  #end(attempt: Attempt, attributes: Attributes, error: StoredError | undefined): void {
    const span = this.#spans.get(attempt)
    if (!span) return
    this.#spans.delete(attempt)
    safely(() => {
      span.setAttributes(attributes)
      if (error) {
        const { name, message, stack, code, status } = error
        span.setAttributes({ 'error.type': String(status ?? code ?? name) })
        span.recordException({ name, message, ...(stack !== undefined && { stack }) })
        span.setStatus({ code: STATUS_ERROR, message })
      }
      span.end()
    })
  }
}

/** Undefined if the trace is not sampled: no backend will have it, so a link to it would lead nowhere. */
function sampledTrace(span: SpanOf): string | undefined {
  const { traceId, traceFlags } = span.spanContext()
  return (traceFlags & SAMPLED) !== 0 && TRACE_ID.test(traceId) ? traceId : undefined
}

/** Calls OpenTelemetry; an error in it costs a span and nothing else. */
function safely<T>(trace: () => T): T | undefined {
  try {
    return trace()
  } catch {
    return undefined
  }
}

function placeOf(operation: 'send' | 'process', queue: string, name: string): Attributes {
  return {
    'messaging.system': 'chronos',
    'messaging.destination.name': queue,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'chronos.job.name': name,
  }
}
