import type { Clock } from '../../core/values/clock.js'
import type { JobUpdate } from '../../engine/results/follow.js'
import { problemOf } from '../http/problem.js'
import { EventStream } from './stream.js'

interface JobStreamOptions {
  readonly clock: Clock
  readonly isValid: () => Promise<boolean>
  readonly onClosed: () => void
  /** The updates, as this client may see them. */
  readonly updates: (signal: AbortSignal) => AsyncIterable<JobUpdate>
}

/** The updates of one job as server-sent events. A client that reads slowly gets all of them, at its own pace. */
export class JobStream {
  readonly #options: JobStreamOptions
  readonly #stream: EventStream
  readonly #stop = new AbortController()
  #onRoom: (() => void) | undefined

  constructor(options: JobStreamOptions) {
    this.#options = options
    const { clock, isValid } = options
    this.#stream = new EventStream({
      clock,
      isValid,
      onRoom: () => this.#onRoom?.(),
      onClosed: () => {
        this.#stop.abort()
        this.#onRoom?.()
        options.onClosed()
      },
    })
    void this.#send()
  }

  get body(): ReadableStream<Uint8Array> {
    return this.#stream.body
  }

  close(): void {
    this.#stream.close()
  }

  async #send(): Promise<void> {
    try {
      for await (const { type, cursor, ...data } of this.#options.updates(this.#stop.signal)) {
        while (!this.#stream.event(type, data, cursor)) {
          if (this.#stream.isClosed) return
          await this.#room()
        }
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        const { code, message } = problemOf(error)
        // `error` is the name of a broken connection.
        this.#stream.event('problem', { code, detail: message })
      }
    } finally {
      this.#stream.close()
    }
  }

  async #room(): Promise<void> {
    if (this.#stream.hasRoom) return
    await new Promise<void>(resolve => {
      this.#onRoom = resolve
    })
    this.#onRoom = undefined
  }
}
