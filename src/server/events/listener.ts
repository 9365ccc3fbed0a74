import type { Clock, Timer } from '../../core/values/clock.js'
import type { ChangedJob } from './feed.js'

export interface Message {
  readonly id: string
  readonly sequence: number
  readonly topics: readonly { readonly topic: string; readonly tenantId: string | undefined }[]
  readonly jobs: readonly { readonly job: ChangedJob; readonly tenantId: string | undefined }[]
}

const HEARTBEAT_MS = 15_000
/** The client authenticates again when it reconnects. */
const LIFE_MS = 3_600_000
/** The buffer for a client that reads slowly. */
const BUFFER_MAX_BYTES = 64 * 1024
const RETRY_MS = 2_000

/** A revoked token or a closed session ends its streams within five seconds, the cache of tokens included. */
const CHECK_MS = 2_000

interface ListenerOptions {
  readonly clock: Clock
  readonly tenantId: string | undefined
  /** Whether the client's credentials are still good. */
  readonly isValid: () => Promise<boolean>
  readonly onClosed: () => void
}

/** One open stream of server-sent events. */
export class Listener {
  readonly body: ReadableStream<Uint8Array>
  readonly #options: ListenerOptions
  readonly #encoder = new TextEncoder()
  #controller!: ReadableStreamDefaultController<Uint8Array>
  /** A message was dropped because the client read too slowly. */
  #isBehind = false
  #isClosed = false
  #heartbeat: Timer | undefined
  readonly #end: Timer
  #check: Timer | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
    this.body = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        pull: () => this.#catchUp(),
        cancel: () => this.close(),
      },
      { highWaterMark: BUFFER_MAX_BYTES, size: chunk => chunk?.byteLength ?? 0 },
    )
    this.#end = options.clock.timer(LIFE_MS, () => this.close())
    this.#heartbeatLater()
    this.#checkLater()
  }

  begin(id: string): void {
    this.#write(`retry: ${RETRY_MS}\n`)
    this.#event('hello', { at: new Date(this.#options.clock.now()).toISOString() }, id)
  }

  /** Sends the part of the message that the client may see, if any. */
  send({ id, topics, jobs }: Message): void {
    const { tenantId } = this.#options
    const mine = (one: { readonly tenantId: string | undefined }): boolean =>
      tenantId === undefined || one.tenantId === tenantId
    const seen = [...new Set(topics.filter(mine).map(({ topic }) => topic))]
    if (seen.length === 0) return
    this.#event('change', { topics: seen, jobs: jobs.filter(mine).map(({ job }) => job) }, id)
  }

  /** Tells the client to fetch everything again. */
  reset(): void {
    this.#event('reset', {})
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

  #catchUp(): void {
    if (!this.#isBehind) return
    this.#isBehind = false
    this.reset()
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

  #event(name: string, data: unknown, id?: string): void {
    this.#write(`${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  #write(text: string): void {
    if (this.#isClosed) return
    if ((this.#controller.desiredSize ?? 0) <= 0) {
      this.#isBehind = true
      return
    }
    this.#controller.enqueue(this.#encoder.encode(text))
  }
}
