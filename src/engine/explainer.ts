import { ChronosError, shown } from '../core/error.js'
import { type Explanation, explain, type GateFacts } from '../core/explain.js'
import { circuitState, type Gate } from '../core/gate.js'
import type { Job } from '../core/job.js'
import { DELIVERIES } from '../core/webhook.js'
import type { Store } from '../store/store.js'
import type { Environment } from './environment.js'
import { isAlive, knows, WORKER, WORKERS_MAX, type WorkerRecord } from './fleet.js'
import { GATE } from './gates.js'

/** Enough to find the last decision behind a few runs that were put off. */
const ATTEMPTS = 5

/** Gathers what is known about a job and what is around it, and says in plain words what it means. */
export async function explainJob(env: Environment, id: string): Promise<Explanation> {
  const store = await env.connection.store()
  const job = await store.get(id)
  if (!job) throw new ChronosError('NOT_FOUND', `there is no job ${shown(id)}`, { details: { jobId: id } })
  const { now } = await store.info()
  const [policy, attempts, queues, workers, gate] = await Promise.all([
    env.policies.of(job),
    store.history(id, { limit: ATTEMPTS }),
    store.queues(),
    workersFor(store, job, now),
    gateOf(store, job, now),
  ])
  const queue = queues.find(({ name }) => name === job.queue)
  return explain({
    job,
    policy,
    now,
    attempts: attempts.data,
    workers,
    ...(queue && { queue: { paused: queue.paused } }),
    ...(gate && { gate }),
  })
}

async function workersFor(
  store: Store,
  { queue, name }: Job,
  now: number,
): Promise<{ forQueue: number; forName: number }> {
  const records = await store.records(WORKER, { limit: WORKERS_MAX, order: 'down' })
  const all = records.map(({ body }) => JSON.parse(body) as WorkerRecord).filter(worker => isAlive(worker, now))
  // Wherever there is a worker, deliveries are sent too.
  if (queue === DELIVERIES) return { forQueue: all.length, forName: all.length }
  const alive = all.filter(worker => worker.queues.includes(queue))
  return { forQueue: alive.length, forName: alive.filter(worker => knows(worker, name)).length }
}

async function gateOf(store: Store, { gate: key }: Job, now: number): Promise<GateFacts | undefined> {
  if (key === undefined) return undefined
  const [record] = await store.records(GATE, { ids: [key] })
  if (!record) return undefined
  const { openUntil, forced, reason, rampFrom, ...gate } = JSON.parse(record.body) as Gate
  return {
    key,
    state: circuitState({ ...gate, ...(rampFrom !== undefined && { rampFrom }) }, now),
    ...(gate.circuit === 'open' && openUntil !== undefined && { openUntil }),
    ...(rampFrom !== undefined && rampFrom > now && { notBefore: rampFrom }),
    ...(forced === 'open' && { forced: true }),
    ...(reason !== undefined && { reason }),
  }
}
