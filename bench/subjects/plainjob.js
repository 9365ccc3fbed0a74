import Database from 'better-sqlite3'
import { better, defineQueue, defineWorker, JobStatus } from 'plainjob'
import { batches, payload } from '../payload.js'
import { pause, percentile, sample } from '../sample.js'

/**
 * plainjob at its best: better-sqlite3 13, WAL with synchronous=NORMAL (which it sets itself), a poll of 10 ms
 * instead of its default of 1 s, and no logging. One worker: its API is synchronous, a second one only waits.
 */
const POLL_MS = 10
const silent = { error() {}, warn() {}, info() {}, debug() {} }

/** @param {string} file */
function open(file) {
  return defineQueue({ connection: better(new Database(file)), logger: silent })
}

/** @param {{ file: string, jobs: number }} options */
export async function fill({ file, jobs }) {
  const queue = open(file)
  for (const batch of batches(jobs)) queue.addMany('noop', batch)
  queue.close()
}

/** @param {{ file: string, jobs: number }} options */
export async function drain({ file, jobs }) {
  const queue = open(file)
  let done = 0
  /** @type {() => void} */
  let finish
  const finished = new Promise(resolve => {
    finish = () => resolve(undefined)
  })
  const worker = defineWorker('noop', async () => {}, {
    queue,
    logger: silent,
    pollIntervall: POLL_MS,
    onCompleted() {
      done++
      if (done === jobs) finish()
    },
  })
  const result = await sample(jobs, async () => {
    void worker.start()
    await finished
    const left = queue.countJobs({ status: JobStatus.Pending }) + queue.countJobs({ status: JobStatus.Processing })
    if (left > 0) throw new Error(`expected an empty queue, got ${left} jobs left`)
  })
  await worker.stop()
  queue.close()
  return result
}

/** @param {{ file: string, jobs: number, inFlight: number }} options */
export async function enqueue({ file, jobs, inFlight }) {
  const queue = open(file)
  let next = 0
  async function caller() {
    while (next < jobs) await queue.add('noop', payload(next++))
  }
  const result = await sample(jobs, async () => {
    await Promise.all(Array.from({ length: inFlight }, caller))
  })
  queue.close()
  return result
}

/** @param {{ file: string, times: number }} options */
export async function latency({ file, times }) {
  const queue = open(file)
  /** @type {(at: bigint) => void} */
  let started = () => {}
  const worker = defineWorker('noop', async () => started(process.hrtime.bigint()), {
    queue,
    logger: silent,
    pollIntervall: POLL_MS,
  })
  void worker.start()
  /** @type {number[]} */
  const latenciesMs = []
  for (let i = 0; i < times; i++) {
    await pause(5 + ((i * 7) % 20))
    const arrival = new Promise(resolve => {
      started = resolve
    })
    const enqueuedAt = process.hrtime.bigint()
    queue.add('noop', payload(i))
    latenciesMs.push(Number((await arrival) - enqueuedAt) / 1e6)
  }
  await worker.stop()
  queue.close()
  return { p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) }
}
