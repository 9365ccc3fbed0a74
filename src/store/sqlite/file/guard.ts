import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { toText } from '../../columns.js'
import type { Guard, GuardOptions } from '../../store.js'
import type { Driver } from './driver.js'
import type { StoreFile } from './file.js'

const AT_REST = 0

/** The data that the thread receives at its start. */
export interface GuardData extends GuardOptions {
  /** The module of SQLite to import. */
  readonly specifier: string
  readonly path: string
  /**
   * Two 64-bit integers: the store's time of the last heartbeat, or 0 at rest; and the time until which the thread
   * renewed the leases.
   */
  readonly beat: SharedArrayBuffer
}

/**
 * Renews a worker's leases while its event loop is blocked, from a thread with its own connection: a handler that
 * computes for a minute is not a dead process.
 */
export function guard(file: StoreFile, options: GuardOptions): Guard {
  const beat = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)
  const beats = new BigInt64Array(beat)
  const setHeartbeat = (time: number) => void Atomics.store(beats, 0, BigInt(Math.floor(time)))
  const data = { ...options, workerId: toText(options.workerId), path: file.path, beat }
  const startWith = ({ specifier }: Driver) => start({ ...data, specifier })
  // The guard is optional: without it the jobs of a blocked worker are considered lost.
  const started = file.loadedDriver ? startWith(file.loadedDriver) : file.driver().then(startWith, () => undefined)
  return {
    beat: () => setHeartbeat(file.time.now()),
    rest: () => setHeartbeat(AT_REST),
    keptUntil: () => file.time.toOwn(Number(Atomics.load(beats, 1))),
    stop: async () => {
      const thread = await started
      if (!thread) return
      thread.ref()
      thread.postMessage('stop')
      await thread.gone
    },
  }
}

function start(workerData: GuardData): Worker & { gone: Promise<unknown> } {
  const thread = new Worker(new URL('./thread.js', import.meta.url), { workerData, name: 'chronos-guard' })
  thread.unref()
  const gone = once(thread, 'exit').catch(() => undefined)
  return Object.assign(thread, { gone })
}
