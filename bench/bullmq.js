import { idleFor } from './idle.js'
import { latencies, otherProcess, Starts, teller } from './latency.js'
import { batches, payload } from './payload.js'
import { Runs, together } from './runs.js'
import { pause, sample } from './sample.js'

const CONCURRENCY = 20

/**
 * The tasks of BullMQ on one of its backends: 20 jobs at a time. It keeps the jobs, but not their attempts.
 *
 * @template {{ serverPid?: number }} Place
 * @param {string} subject name of the file of this backend in subjects/
 * @param {{ open(place: Place): import('bullmq').Queue, work(place: Place, run: (job: import('bullmq').Job) => Promise<void>, concurrency: number): import('bullmq').Worker }} backend
 */
export function bullmqTasks(subject, backend) {
  /** @param {Place} place */
  async function open(place) {
    const queue = backend.open(place)
    await queue.waitUntilReady()
    return queue
  }

  /**
   * @param {Place} place
   * @param {(job: import('bullmq').Job) => Promise<void>} run
   */
  function work(place, run) {
    return backend.work(place, run, CONCURRENCY)
  }

  /**
   * @param {Place & { jobs: number }} place
   * @param {number} runsPerJob
   */
  async function drainRuns(place, runsPerJob) {
    const queue = await open(place)
    const runs = new Runs(place.jobs * runsPerJob)
    /** @type {import('bullmq').Worker | undefined} */
    let worker
    async function drained() {
      worker = work(place, async job => {
        runs.add()
        if (job.attemptsMade < runsPerJob - 1) throw new Error('the first run fails')
      })
      await runs.all
      while ((await queue.getJobCountByTypes('waiting', 'active', 'delayed')) > 0) await pause(1)
    }
    const result = await sample(place.jobs, drained, place.serverPid)
    await worker?.close()
    await queue.close()
    return result
  }

  return {
    /** @param {Place & { jobs: number, large?: boolean }} place */
    async fill(place) {
      const queue = await open(place)
      for (const batch of batches(place.jobs, { large: place.large ?? false })) await queue.addBulk(specs(batch))
      await queue.close()
    },

    /** @param {Place & { jobs: number }} place */
    drain: place => drainRuns(place, 1),

    /** @param {Place & { jobs: number }} place */
    drainFailingOnce: place => drainRuns(place, 2),

    /** @param {Place & { jobs: number, inFlight: number }} place */
    async enqueue(place) {
      const { jobs, inFlight, serverPid } = place
      const queue = await open(place)
      const result = await sample(jobs, () => together(jobs, inFlight, n => queue.add('noop', payload(n))), serverPid)
      await queue.close()
      return result
    },

    /** @param {Place & { jobs: number, inFlight: number }} place */
    async bulk(place) {
      const { jobs, inFlight, serverPid } = place
      const queue = await open(place)
      const all = [...batches(jobs)]
      const add = (/** @type {number} */ n) => queue.addBulk(specs(all[n] ?? []))
      const result = await sample(jobs, () => together(all.length, inFlight, add), serverPid)
      await queue.close()
      return result
    },

    /** @param {Place & { times: number }} place */
    async latency(place) {
      const starts = new Starts()
      const queue = await open(place)
      const worker = work(place, async () => starts.tell())
      await worker.waitUntilReady()
      const result = await latencies(place.times, data => queue.add('noop', data), starts.next)
      await worker.close()
      await queue.close()
      return result
    },

    /** @param {Place & { times: number }} place */
    async latencyAcross({ times, ...place }) {
      const queue = await open(/** @type {any} */ (place))
      const other = await otherProcess(subject, place)
      const result = await latencies(times, data => queue.add('noop', data), other.next)
      await other.stop()
      await queue.close()
      return result
    },

    /** @param {Place} place */
    async tellStarts(place) {
      const worker = work(place, async () => teller.tell())
      await worker.waitUntilReady()
      await teller.untilStopped()
      await worker.close()
    },

    /** @param {Place & { seconds: number }} place */
    async idle(place) {
      const worker = work(place, async () => {})
      await worker.waitUntilReady()
      const result = await idleFor(place)
      await worker.close()
      return result
    },
  }
}

/** @param {object[]} payloads */
function specs(payloads) {
  return payloads.map(data => ({ name: 'noop', data, opts: { attempts: 2 } }))
}
