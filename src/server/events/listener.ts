import type { Clock } from '../../core/values/clock.js'
import type { ChangedJob } from './feed.js'
import { EventStream } from './stream.js'

export interface Message {
  readonly id: string
  readonly sequence: number
  readonly topics: readonly { readonly topic: string; readonly tenantId: string | undefined }[]
  readonly jobs: readonly { readonly job: ChangedJob; readonly tenantId: string | undefined }[]
}

interface ListenerOptions {
  readonly clock: Clock
  readonly tenantId: string | undefined
  /** Whether the client's credentials are still good. */
  readonly isValid: () => Promise<boolean>
  readonly onClosed: () => void
}

/** One open stream of changes. */
export class Listener {
  readonly #options: ListenerOptions
  readonly #stream: EventStream
  /** A message was dropped because the client read too slowly. */
  #isBehind = false

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#stream = new EventStream({ ...options, onRoom: () => this.#catchUp() })
  }

  get body(): ReadableStream<Uint8Array> {
    return this.#stream.body
  }

  begin(id: string): void {
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
    this.#stream.close()
  }

  #event(name: string, data: unknown, id?: string): void {
    if (!this.#stream.event(name, data, id)) this.#isBehind = true
  }

  #catchUp(): void {
    if (!this.#isBehind) return
    this.#isBehind = false
    this.reset()
  }
}
