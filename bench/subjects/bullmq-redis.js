import { Queue, Worker } from 'bullmq'
import { bullmqTasks } from '../bullmq.js'

/**
 * BullMQ on Redis, its usual backend.
 *
 * @typedef {{ port: number, serverPid?: number }} Place
 *
 * @param {Place} place
 */
function connection({ port }) {
  return { host: '127.0.0.1', port, maxRetriesPerRequest: null }
}

export const { fill, drain, drainFailingOnce, enqueue, latency, latencyAcross, tellStarts } = bullmqTasks(
  'bullmq-redis',
  {
    /** @param {Place} place */
    open: place => new Queue('noop', { connection: connection(place) }),
    work: (place, run, concurrency) => new Worker('noop', run, { connection: connection(place), concurrency }),
  },
)
