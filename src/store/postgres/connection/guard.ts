import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { toText } from '../../columns.js'
import type { Guard, GuardOptions } from '../../store.js'
import { type Place, settingsOf } from './driver.js'
import type { Database } from './pool.js'

const AT_REST = 0

/** The data that the thread receives at its start. */
export interface GuardData extends GuardOptions {
  readonly settings: object
  /** Renews the leases of one worker. */
  readonly sql: string
  /**
   * Two 64-bit integers, on this process's clock: the time of the last heartbeat, or 0 at rest; and the time until
   * which the thread renewed the leases.
   */
  readonly beat: SharedArrayBuffer
}

/** Skips rows that a handler's transaction has locked. */
const EXTEND_ALL = `
  UPDATE @jobs SET lease_until = @now_ms() + $2::bigint
  WHERE id = ANY (ARRAY (
    SELECT id FROM @jobs WHERE state = 'running' AND worker_id = $1 FOR NO KEY UPDATE SKIP LOCKED))`

/**
 * Renews a worker's leases while its event loop is blocked, from a thread with its own connection: a handler that
 * computes for a minute is not a dead process.
 */
export function guard(db: Database, place: Place, options: GuardOptions): Guard {
  const beat = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)
  const beats = new BigInt64Array(beat)
  const setHeartbeat = (time: number) => void Atomics.store(beats, 0, BigInt(Math.floor(time)))
  const workerId = toText(options.workerId)
  const thread = start({ ...options, workerId, settings: settingsOf(place), sql: db.text(EXTEND_ALL), beat })
  const gone = thread && once(thread, 'exit').catch(() => undefined)
  return {
    beat: () => setHeartbeat(db.clock.now()),
    rest: () => setHeartbeat(AT_REST),
    keptUntil: () => Number(Atomics.load(beats, 1)),
    stop: async () => {
      thread?.ref()
      thread?.postMessage('stop')
      await gone
    },
  }
}

/**
 * The guard is optional. Settings with functions, such as a password callback, can't be sent to a thread; then there
 * is no guard.
 */
function start(workerData: GuardData): Worker | undefined {
  try {
    const thread = new Worker(new URL('./thread.js', import.meta.url), { workerData, name: 'chronos-guard' })
    thread.unref()
    return thread
  } catch (error) {
    if ((error as Error).name === 'DataCloneError') return undefined
    throw error
  }
}
