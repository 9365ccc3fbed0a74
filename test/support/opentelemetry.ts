import { AsyncLocalStorage } from 'node:async_hooks'
import * as api from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'

/** The tracing setup of an application, which keeps its spans here. */
export interface Traced {
  readonly api: typeof api
  spans(name?: string): readonly ReadableSpan[]
  [Symbol.dispose](): void
}

export function startTracing(): Traced {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  api.trace.setGlobalTracerProvider(provider)
  api.context.setGlobalContextManager(new LocalContext())
  api.propagation.setGlobalPropagator(new Headers())
  return {
    api,
    spans: name => exporter.getFinishedSpans().filter(span => name === undefined || span.name === name),
    [Symbol.dispose]() {
      api.trace.disable()
      api.context.disable()
      api.propagation.disable()
    },
  }
}

class LocalContext implements api.ContextManager {
  readonly #storage = new AsyncLocalStorage<api.Context>()

  active(): api.Context {
    return this.#storage.getStore() ?? api.ROOT_CONTEXT
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: api.Context,
    run: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(context, () => run.call(thisArg as ThisParameterType<F>, ...args))
  }

  bind<T>(_context: api.Context, target: T): T {
    return target
  }

  enable(): this {
    return this
  }

  /** While a storage is in use, Node tracks every promise of the process, in later tests too. */
  disable(): this {
    this.#storage.disable()
    return this
  }
}

/** The W3C headers, and some baggage that must stay private. */
class Headers implements api.TextMapPropagator<Record<string, string>> {
  inject(context: api.Context, carrier: Record<string, string>): void {
    const span = api.trace.getSpanContext(context)
    if (!span) return
    carrier['traceparent'] = `00-${span.traceId}-${span.spanId}-0${span.traceFlags}`
    carrier['baggage'] = 'user=ada'
  }

  extract(context: api.Context, carrier: Record<string, string>): api.Context {
    const [, traceId, spanId, flags] = /^00-(\w{32})-(\w{16})-0(\d)$/.exec(carrier['traceparent'] ?? '') ?? []
    if (traceId === undefined || spanId === undefined) return context
    return api.trace.setSpanContext(context, { traceId, spanId, traceFlags: Number(flags), isRemote: true })
  }

  fields(): string[] {
    return ['traceparent', 'baggage']
  }
}
