import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { payload } from './payload.js'
import { pause, percentile } from './sample.js'

/**
 * Enqueues one job at a time, with pauses that are not in step with any timer.
 *
 * @param {number} times
 * @param {(data: object) => Promise<unknown>} enqueue
 * @param {() => Promise<bigint>} nextStart
 */
export async function latencies(times, enqueue, nextStart) {
  const warmUps = 20
  /** @type {number[]} */
  const measuredMs = []
  for (let i = -warmUps; i < times; i++) {
    await pause(5 + ((Math.abs(i) * 7) % 20))
    const start = nextStart()
    const enqueuedAt = process.hrtime.bigint()
    await enqueue(payload(Math.abs(i)))
    const ms = Number((await start) - enqueuedAt) / 1e6
    if (i >= 0) measuredMs.push(ms)
  }
  return { p50Ms: percentile(measuredMs, 0.5), p99Ms: percentile(measuredMs, 0.99) }
}

/** Handlers that start in this process, one at a time. */
export class Starts {
  /** @type {(at: bigint) => void} */
  #started = () => {}

  tell = () => this.#started(process.hrtime.bigint())

  /** @type {() => Promise<bigint>} */
  next = () =>
    new Promise(resolve => {
      this.#started = resolve
    })
}

/**
 * Another process works, as the task `tellStarts` of the subject, and reports when handlers start. All processes of a
 * machine share the monotonic clock.
 *
 * @param {string} subject
 * @param {Record<string, unknown>} options
 */
export async function otherProcess(subject, options) {
  const child = fileURLToPath(new URL('./child.js', import.meta.url))
  const other = fork(child, [subject, 'tellStarts', JSON.stringify(options)])
  await once(other, 'message')
  return {
    /** @returns {Promise<bigint>} */
    async next() {
      const [startedAt] = await once(other, 'message')
      return BigInt(String(startedAt))
    },
    async stop() {
      other.send('stop')
      await once(other, 'exit')
    },
  }
}

/**
 * Another process that works, as the task `workAlong` of the subject, from `start` to `stop`.
 *
 * @param {string} subject
 * @param {Record<string, unknown>} options
 */
export async function workingProcess(subject, options) {
  const child = fileURLToPath(new URL('./child.js', import.meta.url))
  const other = fork(child, [subject, 'workAlong', JSON.stringify(options)])
  await once(other, 'message')
  return {
    pid: other.pid,
    start() {
      other.send('start')
    },
    async stop() {
      other.send('stop')
      await once(other, 'exit')
    },
  }
}

/** Runs in the other process. */
export const teller = {
  tell() {
    process.send?.(String(process.hrtime.bigint()))
  },
  async untilStopped() {
    process.send?.('ready')
    await once(process, 'message')
  },
  async untilTold() {
    if (!this.isReady) process.send?.('ready')
    this.isReady = true
    await once(process, 'message')
  },
  isReady: false,
}
