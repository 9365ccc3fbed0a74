import { AsyncResource } from 'node:async_hooks'
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import type { Snooze } from '../../core/failure/outcome.js'
import type { Units } from '../../core/partition/limits.js'
import type { Duration } from '../../core/values/duration.js'
import type { JobContext, OnceOptions } from '../client/definition.js'
import type { FromThread, Order, ToThread } from './message.js'
import { flattened, revived } from './thrown.js'

/** Runs a job in this thread, and answers what its handler asks for. Rejects with what the handler threw. */
export function runIn(
  thread: Worker,
  order: Omit<Order, 'port' | 'facts'>,
  job: JobContext,
): Promise<unknown | Snooze> {
  return new Promise((resolve, reject) => {
    const { port1: port, port2 } = new MessageChannel()
    const send = (message: ToThread): void => port.postMessage(message)
    const abort = (): void => send({ type: 'abort', error: flattened(job.signal.reason) })
    const call = new Calls(job, send)
    const settle = (end: () => void): void => {
      job.signal.removeEventListener('abort', abort)
      port.close()
      end()
    }
    // Messages arrive outside of the handler's context, which traces and virtual clocks need.
    const hear = AsyncResource.bind((message: FromThread): void => {
      if (message.type === 'done') settle(() => resolve(message.result))
      else if (message.type === 'unsent') settle(() => resolve(NOT_JSON))
      else if (message.type === 'snoozed') settle(() => resolve(snoozed(job, message)))
      else if (message.type === 'failed') settle(() => reject(revived(message.error)))
      else call.hear(message)
    })
    port.on('message', hear)
    // The thread has crashed or was terminated; the pool rejects the run.
    port.on('close', () => job.signal.removeEventListener('abort', abort))
    thread.postMessage({ ...order, facts: factsOf(job), port: port2 } satisfies Order, [port2 as MessagePort])
    if (job.signal.aborted) abort()
    else job.signal.addEventListener('abort', abort, { once: true })
  })
}

/** A value that is not JSON: the run succeeds, and its note says that the result was not kept. */
const NOT_JSON = { toJSON: () => BigInt(0) }

/** An invalid delay fails the run, as it does in a handler. */
function snoozed(job: JobContext, { delay, note }: Extract<FromThread, { type: 'snoozed' }>): unknown {
  try {
    return job.snooze(delay as Duration, note as string | undefined)
  } catch (error) {
    return Promise.reject(error)
  }
}

type Asked = Exclude<FromThread, { type: 'done' | 'unsent' | 'snoozed' | 'failed' }>

interface Effect {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The calls of a handler on its `job`. */
class Calls {
  readonly #job: JobContext
  readonly #send: (message: ToThread) => void
  readonly #effects = new Map<number, Effect>()

  constructor(job: JobContext, send: (message: ToThread) => void) {
    this.#job = job
    this.#send = send
  }

  hear(asked: Asked): void {
    const job = this.#job
    if (asked.type === 'log') this.#report(() => job.log(asked.message as string, asked.data))
    else if (asked.type === 'note') this.#report(() => job.note(asked.text as string))
    else if (asked.type === 'progress') this.#report(() => job.progress(asked.value))
    else if (asked.type === 'spent') this.#report(() => job.spent(asked.units as Units))
    else if (asked.type === 'wait') this.#answer(asked.id, async () => job.clock.wait(asked.duration as Duration))
    else if (asked.type === 'once') this.#answer(asked.id, async () => this.#once(asked))
    else if (asked.type === 'effect-done') this.#effects.get(asked.id)?.resolve(asked.value)
    else this.#effects.get(asked.id)?.reject(new EffectError(revived(asked.error)))
  }

  /** A handler does not wait for its reports, so a refused one can't be an error in it. */
  #report(write: () => void): void {
    try {
      write()
    } catch (error) {
      if (!this.#job.signal.aborted) this.#job.log('report refused', { error: String(error) })
    }
  }

  #once({ id, name, options }: Extract<Asked, { type: 'once' }>): Promise<unknown> {
    const effect = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        this.#effects.set(id, { resolve, reject })
        this.#send({ type: 'effect', id })
      })
    return this.#job.once(name, effect, options as OnceOptions | undefined)
  }

  #answer(id: number, work: () => Promise<unknown>): void {
    work().then(
      value => this.#send({ type: 'answer', id, value }),
      error => {
        const isOwn = error instanceof EffectError
        this.#send({ type: 'answer', id, error: flattened(error), isOwn })
      },
    )
  }
}

/** Thrown by the effect in the thread, where the handler gets the original. */
class EffectError extends Error {
  constructor(cause: unknown) {
    super('the effect failed', { cause })
  }
}

function factsOf(job: JobContext): Order['facts'] {
  const { id, name, queue, tenantId, tags, key, attempt, maxAttempts, isLastAttempt, run, generation } = job
  const { delivery, createdAt, runAt, deadline, partition, units } = job
  const own = { id, name, queue, tenantId, tags, key, attempt, maxAttempts, isLastAttempt, run, generation }
  return { ...own, delivery, createdAt, runAt, deadline, partition, units }
}
