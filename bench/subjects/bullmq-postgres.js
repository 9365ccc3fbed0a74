import bullmq from 'bullmq'
import { bullmqTasks } from '../bullmq.js'

/**
 * BullMQ on its PostgreSQL backend at its best: 10 connections.
 *
 * @typedef {{ url: string, serverPid?: number }} Place
 */
const { Queue, Worker } = bullmq.withBackend(bullmq.createPostgresBackend)

/** @param {Place} place */
function connection({ url }) {
  return { connectionString: url, max: 10, migrate: true }
}

export const { fill, drain, drainFailingOnce, enqueue, bulk, latency, latencyAcross, tellStarts, idle } = bullmqTasks(
  'bullmq-postgres',
  {
    /** @param {Place} place */
    open: place => new Queue('noop', { connection: connection(place) }),
    work: (place, run, concurrency) => new Worker('noop', run, { connection: connection(place), concurrency }),
  },
)
