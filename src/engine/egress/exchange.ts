import type { Dispatcher } from 'undici'
import { HttpError } from '../../core/failure/http-error.js'
import { toStoredError } from '../../core/failure/stored-error.js'
import type { HttpMethod } from '../../core/http/request.js'
import type { Clock } from '../../core/values/clock.js'
import { formatMs } from '../../core/values/duration.js'
import { present } from '../../core/values/present.js'
import { EgressBlocked } from './blocked.js'
import type { ConnectionWitness } from './connector.js'

/** One request to one origin. */
export interface Hop {
  readonly method: HttpMethod
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The beginning of the body, up to the requested size. */
  readonly body: Uint8Array
  /** The body was longer, or the rest did not arrive in time. */
  readonly truncated: boolean
  readonly timing: Timing
}

/** Milliseconds. A reused connection has none of the first three. */
export interface Timing {
  readonly dnsMs?: number
  readonly connectMs?: number
  readonly tlsMs?: number
  /** From the start to the headers of the response. */
  readonly firstByteMs: number
  readonly totalMs: number
}

/** A request that was sent may have been carried out, even without a response. Before that it certainly was not. */
type Phase = 'connecting' | 'sent' | 'answered' | 'over'

/** A request in flight: gets callbacks from its connection and from undici, and ends once. */
export class Exchange implements Dispatcher.DispatchHandler, ConnectionWitness {
  readonly ended: Promise<Answer>
  readonly #hop: Hop
  readonly #clock: Clock
  readonly #bodyMaxBytes: number
  readonly #startedAt: number
  readonly #at: { looked?: number; connected?: number; secured?: number; firstByte?: number } = {}
  #phase: Phase = 'connecting'
  #controller: Dispatcher.DispatchController | undefined
  #giveUp: (() => void) | undefined
  #status = 0
  #headers: Readonly<Record<string, string>> = {}
  #chunks: Uint8Array[] = []
  #bytes = 0
  #resolve!: (answer: Answer) => void
  #reject!: (error: unknown) => void

  constructor(hop: Hop, clock: Clock, bodyMaxBytes: number) {
    this.#hop = hop
    this.#clock = clock
    this.#bodyMaxBytes = bodyMaxBytes
    this.#startedAt = clock.now()
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // The request may fail before a caller awaits this promise.
    this.ended.catch(() => {})
  }

  /** The request has not been sent yet. */
  isWaitingFor(origin: string): boolean {
    return this.#phase === 'connecting' && this.#hop.url.origin === origin
  }

  /** The timeout has passed. A request with a status still returns its response. */
  timeOut(limitMs: number): void {
    const { method, url } = this.#hop
    const words = `${method} ${url.origin} took longer than ${formatMs(limitMs)}`
    const maybeExecuted = this.#phase === 'sent'
    this.stop(new HttpError(words, { code: 'ETIMEDOUT', timedOut: true, maybeExecuted }))
  }

  /** Aborts the request. */
  stop(reason: unknown): void {
    if (this.#phase === 'over') return
    if (this.#phase === 'answered') this.#answer(true)
    else this.#fail(reason)
    // If the request has not been sent yet, undici calls once more before it sends it; it is refused then.
    this.#controller?.abort(STOPPED)
    this.#giveUp?.()
  }

  #answer(truncated: boolean): void {
    this.#phase = 'over'
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: Buffer.concat(this.#chunks).subarray(0, this.#bodyMaxBytes),
      truncated,
      timing: this.#timing(),
    })
  }

  #fail(error: unknown): void {
    this.#phase = 'over'
    this.#reject(error)
  }

  #timing(): Timing {
    const now = this.#clock.now()
    const { looked, connected, secured, firstByte = now } = this.#at
    return {
      ...(looked !== undefined && { dnsMs: looked - this.#startedAt }),
      ...(connected !== undefined && { connectMs: connected - (looked ?? this.#startedAt) }),
      ...(secured !== undefined && { tlsMs: secured - (connected ?? this.#startedAt) }),
      firstByteMs: firstByte - this.#startedAt,
      totalMs: now - this.#startedAt,
    }
  }

  // Callbacks of the connection.

  opening(giveUp: () => void): void {
    this.#giveUp = giveUp
  }
  looked(): void {
    this.#at.looked ??= this.#clock.now()
  }
  connected(): void {
    this.#at.connected = this.#clock.now()
  }
  secured(): void {
    this.#at.secured = this.#clock.now()
  }

  // Callbacks of undici.

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // From now on the connection belongs to undici and may outlive this request.
    this.#giveUp = undefined
    this.#controller = controller
    // A second call means that undici would send the request again on its own.
    if (this.#phase !== 'connecting') controller.abort(STOPPED)
    else this.#phase = 'sent'
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200 || this.#phase !== 'sent') return
    this.#phase = 'answered'
    this.#status = status
    this.#headers = joined(headers)
    this.#at.firstByte = this.#clock.now()
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase !== 'answered') return
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes > this.#bodyMaxBytes) this.#enough()
  }

  onResponseEnd(): void {
    if (this.#phase === 'answered') this.#answer(false)
  }

  onResponseError(_: unknown, error: Error): void {
    if (this.#phase === 'over') return
    // The status is known; only the rest of the body was cut off.
    if (this.#phase === 'answered') this.#answer(true)
    else this.#fail(error instanceof EgressBlocked ? error : this.#noAnswer(error))
  }

  #enough(): void {
    this.#answer(true)
    this.#controller?.abort(STOPPED)
  }

  #noAnswer(error: Error): HttpError {
    const { method, url } = this.#hop
    const { message, code } = toStoredError(error)
    const maybeExecuted = this.#phase === 'sent'
    const what = maybeExecuted ? 'got no answer' : 'could not be sent'
    return new HttpError(`${method} ${url.origin} ${what}: ${message}`, present({ maybeExecuted, code }))
  }
}

const STOPPED = new Error('stopped')

function joined(headers: Readonly<Record<string, string | string[] | undefined>>): Readonly<Record<string, string>> {
  const all: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) all[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ')
  }
  return all
}
