import bullmq from 'bullmq'
import { idleFor } from '../idle.js'
import { latencies, otherProcess, Starts, teller } from '../latency.js'
import { batches, payload } from '../payload.js'
import { Runs, together } from '../runs.js'
import { pause, sample } from '../sample.js'

/**
 * BullMQ on its PostgreSQL backend at its best: 10 connections, 20 jobs at a time. It keeps the jobs, but not their
 * attempts.
 *
 * @typedef {{ url: string, serverPid?: number }} Place
 */
const { Queue, Worker } = bullmq.withBackend(bullmq.createPostgresBackend)
const CONCURRENCY = 20

/** @param {string} url */
function connection(url) {
  return { connectionString: url, max: 10, migrate: true }
}

/** @param {string} url */
async function open(url) {
  const queue = new Queue('noop', { connection: connection(url) })
  await queue.waitUntilReady()
  return queue
}

/**
 * @param {string} url
 * @param {(job: import('bullmq').Job) => Promise<void>} noop
 */
function work(url, noop) {
  return new Worker('noop', noop, { connection: connection(url), concurrency: CONCURRENCY })
}

/**
 * @param {object[]} payloads
 * @param {number} [attempts]
 */
function specs(payloads, attempts = 2) {
  return payloads.map(data => ({ name: 'noop', data, opts: { attempts } }))
}

/** @param {Place & { jobs: number, large?: boolean }} options */
export async function fill({ url, jobs, large = false }) {
  const queue = await open(url)
  for (const batch of batches(jobs, { large })) await queue.addBulk(specs(batch))
  await queue.close()
}

/** @param {Place & { jobs: number }} options */
export async function drain(options) {
  return drainRuns({ ...options, runsPerJob: 1 })
}

/** @param {Place & { jobs: number }} options */
export async function drainFailingOnce(options) {
  return drainRuns({ ...options, runsPerJob: 2 })
}

/** @param {Place & { jobs: number, runsPerJob: number }} options */
async function drainRuns({ url, serverPid, jobs, runsPerJob }) {
  const queue = await open(url)
  const runs = new Runs(jobs * runsPerJob)
  /** @type {import('bullmq').Worker | undefined} */
  let worker
  async function drained() {
    worker = work(url, async job => {
      runs.add()
      if (job.attemptsMade < runsPerJob - 1) throw new Error('the first run fails')
    })
    await runs.all
    while ((await queue.getJobCountByTypes('waiting', 'active', 'delayed')) > 0) await pause(1)
  }
  const result = await sample(jobs, drained, serverPid)
  await worker?.close()
  await queue.close()
  return result
}

/** @param {Place & { jobs: number, inFlight: number }} options */
export async function enqueue({ url, serverPid, jobs, inFlight }) {
  const queue = await open(url)
  const result = await sample(jobs, () => together(jobs, inFlight, n => queue.add('noop', payload(n))), serverPid)
  await queue.close()
  return result
}

/** @param {Place & { jobs: number, inFlight: number }} options */
export async function bulk({ url, serverPid, jobs, inFlight }) {
  const queue = await open(url)
  const all = [...batches(jobs)]
  const result = await sample(
    jobs,
    () => together(all.length, inFlight, n => queue.addBulk(specs(all[n] ?? []))),
    serverPid,
  )
  await queue.close()
  return result
}

/** @param {Place & { times: number }} options */
export async function latency({ url, times }) {
  const starts = new Starts()
  const queue = await open(url)
  const worker = work(url, async () => starts.tell())
  await worker.waitUntilReady()
  const result = await latencies(times, data => queue.add('noop', data), starts.next)
  await worker.close()
  await queue.close()
  return result
}

/** @param {Place & { times: number }} options */
export async function latencyAcross({ url, times }) {
  const queue = await open(url)
  const other = await otherProcess('bullmq-postgres', { url })
  const result = await latencies(times, data => queue.add('noop', data), other.next)
  await other.stop()
  await queue.close()
  return result
}

/** @param {Place} place */
export async function tellStarts({ url }) {
  const worker = work(url, async () => teller.tell())
  await worker.waitUntilReady()
  await teller.untilStopped()
  await worker.close()
}

/** @param {Place & { seconds: number }} options */
export async function idle({ url, ...options }) {
  const worker = work(url, async () => {})
  await worker.waitUntilReady()
  const result = await idleFor({ url, ...options })
  await worker.close()
  return result
}
