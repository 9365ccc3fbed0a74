import BeeQueue from 'bee-queue'
import { latencies, otherProcess, Starts, teller } from '../latency.js'
import { batches, payload } from '../payload.js'
import { Runs, together } from '../runs.js'
import { pause, sample } from '../sample.js'

/**
 * bee-queue at its best: no events, no jobs held in memory. It keeps the jobs, but not their attempts.
 *
 * @typedef {{ port: number, serverPid?: number }} Place
 */
const CONCURRENCY = 100

/**
 * @param {Place} place
 * @param {{ isWorker: boolean }} options
 */
async function open({ port }, { isWorker }) {
  const redis = { host: '127.0.0.1', port }
  const queue = new BeeQueue('noop', { redis, isWorker, getEvents: false, sendEvents: false, storeJobs: false })
  await queue.ready()
  return queue
}

/** @param {Place & { jobs: number, large?: boolean }} options */
export async function fill({ jobs, large = false, ...place }) {
  const queue = await open(place, { isWorker: false })
  for (const batch of batches(jobs, { large })) await queue.saveAll(batch.map(data => queue.createJob(data).retries(1)))
  await queue.close()
}

/** @param {Place & { jobs: number }} options */
export function drain(options) {
  return drainRuns(options, 1)
}

/** @param {Place & { jobs: number }} options */
export function drainFailingOnce(options) {
  return drainRuns(options, 2)
}

/**
 * @param {Place & { jobs: number }} place
 * @param {number} runsPerJob
 */
async function drainRuns(place, runsPerJob) {
  const { jobs, serverPid } = place
  const queue = await open(place, { isWorker: true })
  const runs = new Runs(jobs * runsPerJob)
  async function drained() {
    queue.process(CONCURRENCY, async job => {
      runs.add()
      // The retries that are left.
      if (runsPerJob > 1 && job.options.retries === 1) throw new Error('the first run fails')
    })
    await runs.all
    for (;;) {
      const { waiting, active, delayed } = await queue.checkHealth()
      if (waiting + active + delayed === 0) return
      await pause(1)
    }
  }
  const result = await sample(jobs, drained, serverPid)
  await queue.close()
  return result
}

/** @param {Place & { jobs: number, inFlight: number }} options */
export async function enqueue({ jobs, inFlight, ...place }) {
  const queue = await open(place, { isWorker: false })
  const add = (/** @type {number} */ n) => queue.createJob(payload(n)).save()
  const result = await sample(jobs, () => together(jobs, inFlight, add), place.serverPid)
  await queue.close()
  return result
}

/** @param {Place & { times: number }} options */
export async function latency({ times, ...place }) {
  const starts = new Starts()
  const queue = await open(place, { isWorker: true })
  queue.process(CONCURRENCY, async () => starts.tell())
  const result = await latencies(times, data => queue.createJob(data).save(), starts.next)
  await queue.close()
  return result
}

/** @param {Place & { times: number }} options */
export async function latencyAcross({ times, ...place }) {
  const queue = await open(place, { isWorker: false })
  const other = await otherProcess('bee-queue', place)
  const result = await latencies(times, data => queue.createJob(data).save(), other.next)
  await other.stop()
  await queue.close()
  return result
}

/** @param {Place} place */
export async function tellStarts(place) {
  const queue = await open(place, { isWorker: true })
  queue.process(CONCURRENCY, async () => teller.tell())
  await teller.untilStopped()
  await queue.close()
}
