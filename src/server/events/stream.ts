import type { Clock, Timer } from '../../core/values/clock.js'

const HEARTBEAT_MS = 15_000
/** The client authenticates again when it reconnects. */
const LIFE_MS = 3_600_000
/** The buffer for a client that reads slowly. */
const BUFFER_MAX_BYTES = 64 * 1024
const RETRY_MS = 2_000

/** A revoked token or a closed session ends its streams within five seconds, the cache of tokens included. */
const CHECK_MS = 2_000

export const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

interface StreamOptions {
  readonly clock: Clock
  /** Whether the client's credentials are still good. */
  readonly isValid: () => Promise<boolean>
  /** The client has room for more. */
  readonly onRoom: () => void
  readonly onClosed: () => void
}

/** One open stream of server-sent events. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>
  readonly #options: StreamOptions
  readonly #encoder = new TextEncoder()
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #isClosed = false
  #heartbeat: Timer | undefined
  readonly #end: Timer
  #check: Timer | undefined

  constructor(options: StreamOptions) {
    this.#options = options
    this.body = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        pull: () => options.onRoom(),
        cancel: () => this.close(),
      },
      { highWaterMark: BUFFER_MAX_BYTES, size: chunk => chunk?.byteLength ?? 0 },
    )
    this.#end = options.clock.timer(LIFE_MS, () => this.close())
    this.#heartbeatLater()
    this.#checkLater()
    this.#write(`retry: ${RETRY_MS}\n`)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get hasRoom(): boolean {
    return !this.#isClosed && (this.#controller.desiredSize ?? 0) > 0
  }

  /** Sends an event unless the client reads too slowly; returns whether it was sent. */
  event(name: string, data: unknown, id?: string): boolean {
    return this.#write(`${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#heartbeat?.cancel()
    this.#end.cancel()
    this.#check?.cancel()
    try {
      this.#controller.close()
    } catch {
      // The client has closed the stream already.
    }
    this.#options.onClosed()
  }

  #heartbeatLater(): void {
    this.#heartbeat = this.#options.clock.timer(HEARTBEAT_MS, () => {
      this.#write(': heartbeat\n\n')
      if (!this.#isClosed) this.#heartbeatLater()
    })
  }

  #checkLater(): void {
    this.#check = this.#options.clock.timer(CHECK_MS, async () => {
      if (!(await this.#options.isValid())) this.close()
      else if (!this.#isClosed) this.#checkLater()
    })
  }

  #write(text: string): boolean {
    if (!this.hasRoom) return false
    this.#controller.enqueue(this.#encoder.encode(text))
    return true
  }
}
