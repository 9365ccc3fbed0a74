import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../core/values/clock.js'
import type { JobContext } from '../client/definition.js'
import { systemClock } from '../time/system.js'
import { runIn } from './run.js'

/** How long a handler may react to its signal before its thread is terminated. */
const ABORT_GRACE_MS = 500

interface PoolOptions {
  readonly clock: Clock
  /** The time of the store. */
  readonly time: { now(): number }
  readonly threadsMax: number
}

/** A pool, if a definition has its handler in a thread. */
export function threadsFor(
  definitions: readonly { readonly thread?: string }[],
  options: PoolOptions,
): ThreadPool | undefined {
  return definitions.some(({ thread }) => thread !== undefined) ? new ThreadPool(options) : undefined
}

/** The right to one thread, from before a run begins until its handler has ended. */
export interface ThreadSlot {
  run(job: JobContext, payload: unknown): Promise<unknown>
  free(): void
}

/**
 * Threads for CPU-heavy handlers. Each runs one job at a time, so terminating it ends nothing else. A thread is started
 * when it is first needed, and kept for later jobs.
 */
export class ThreadPool {
  readonly #options: PoolOptions
  readonly #idle: Worker[] = []
  readonly #all = new Set<Worker>()
  #slots = 0
  #isClosed = false
  #waiting: (() => void)[] = []

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Waits for a free thread; undefined if the signal aborts first, or the pool is closed. */
  async slot({ signal }: JobContext, module: string): Promise<ThreadSlot | undefined> {
    const isOver = (): boolean => signal.aborted || this.#isClosed
    while (this.#slots >= this.#options.threadsMax && !isOver()) await this.#room(signal)
    if (isOver()) return undefined
    this.#slots++
    let isFree = false
    return {
      run: (job, payload) => this.#run(module, payload, job),
      free: () => {
        if (isFree) return
        isFree = true
        this.#slots--
        this.#waiting.shift()?.()
      },
    }
  }

  /** No run gets a thread any more; the waiting ones stop waiting and do not start. */
  close(): void {
    this.#isClosed = true
    for (const go of this.#waiting.splice(0)) go()
  }

  /** Terminates all threads; runs in them reject. */
  async stop(): Promise<void> {
    await Promise.all([...this.#all].map(thread => thread.terminate()))
  }

  #room(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const go = (): void => {
        signal.removeEventListener('abort', go)
        this.#waiting = this.#waiting.filter(each => each !== go)
        resolve()
      }
      signal.addEventListener('abort', go, { once: true })
      this.#waiting.push(go)
    })
  }

  async #run(module: string, payload: unknown, job: JobContext): Promise<unknown> {
    const { clock, time } = this.#options
    const thread = this.#idle.pop() ?? this.#start()
    thread.ref()
    let grace: Timer | undefined
    const terminateSoon = (): void => {
      grace = clock.timer(ABORT_GRACE_MS, () => void thread.terminate())
    }
    if (job.signal.aborted) terminateSoon()
    else job.signal.addEventListener('abort', terminateSoon, { once: true })
    const crash = crashOf(thread, job)
    try {
      return await Promise.race([
        runIn(thread, { module, payload, storeAheadMs: time.now() - systemClock.now() }, job),
        crash.happened,
      ])
    } finally {
      crash.ignore()
      grace?.cancel()
      job.signal.removeEventListener('abort', terminateSoon)
      if (this.#all.has(thread)) {
        thread.unref()
        this.#idle.push(thread)
      }
    }
  }

  #start(): Worker {
    const thread = new Worker(new URL('./thread.js', import.meta.url), { name: 'chronos-handler' })
    this.#all.add(thread)
    thread.once('exit', () => {
      this.#all.delete(thread)
      const at = this.#idle.indexOf(thread)
      if (at >= 0) this.#idle.splice(at, 1)
    })
    // An error between two runs, from code that a handler left behind, ends only the thread.
    thread.on('error', () => undefined)
    return thread
  }
}

/** A thread ended before its handler did. The cause, if there is one, decides whether the job is retried. */
class ThreadError extends Error {
  override readonly name: string = 'ThreadError'
  readonly code = 'THREAD_ENDED'

  constructor(message: string, cause: unknown) {
    super(message, cause === undefined ? undefined : { cause })
  }
}

interface Crash {
  /** Rejects when the thread ends. */
  readonly happened: Promise<never>
  ignore(): void
}

/** An uncaught error of the thread is the reason; process.exit, a lack of memory and termination end it, too. */
function crashOf(thread: Worker, { name, id }: JobContext): Crash {
  let cause: unknown
  let onError: (error: unknown) => void = () => undefined
  let onExit: (code: number) => void = () => undefined
  const happened = new Promise<never>((_, reject) => {
    onError = error => {
      cause = error
    }
    onExit = code => {
      const why = cause instanceof Error ? cause.message : `exit code ${code}`
      reject(new ThreadError(`the thread of job "${name}" (${id}) ended: ${why}`, cause))
    }
    thread.once('error', onError).once('exit', onExit)
  })
  return { happened, ignore: () => void thread.off('error', onError).off('exit', onExit) }
}
