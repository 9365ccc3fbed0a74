import { type ExplainFacts, type Explanation, explain } from '../../core/job/explain.js'
import type { Job } from '../../core/job/job.js'
import { present } from '../../core/values/present.js'
import { suggest } from '../../core/values/suggest.js'
import { DELIVERIES } from '../../core/webhook/delivery.js'
import type { Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { knows } from '../worker/fleet.js'
import { notFound } from './edit.js'
import { liveWorkers, namesOf } from './handlers.js'
import { readDependencies, readTurns } from './surroundings.js'

/** Enough to find the last decision behind a few deferred runs. */
const ATTEMPTS = 5

/** Reads a job and its surroundings and explains its state in plain sentences. */
export async function explainJob(env: Environment, id: string): Promise<Explanation> {
  const store = await env.connection.store()
  const job = await store.get(id)
  if (!job) throw notFound(id)
  return explainIn(env, store, job)
}

export async function explainIn(env: Environment, store: Store, job: Job): Promise<Explanation> {
  const { now } = await store.info()
  const [policy, attempts, queues, workers, dependency] = await Promise.all([
    env.policies.of(job),
    store.history(job.id, { limit: ATTEMPTS }),
    store.queues(),
    workersFor(store, job, now),
    readDependencies(store, [job], now),
  ])
  const queue = queues.find(({ name }) => name === job.queue)
  const turn = await readTurns(store, [job], queues)
  return explain({
    job,
    policy,
    now,
    attempts: attempts.data,
    workers,
    ...(queue && { queue: { paused: queue.paused } }),
    ...turn(job),
    ...dependency(job),
  })
}

async function workersFor(
  store: Store,
  { queue, name }: Job,
  now: number,
): Promise<NonNullable<ExplainFacts['workers']>> {
  const all = await liveWorkers(store, now)
  // Every process with a worker also sends deliveries.
  if (queue === DELIVERIES) return { forQueue: all.length, forName: all.length }
  const alive = all.filter(worker => worker.queues.includes(queue))
  const forName = alive.filter(worker => knows(worker, name)).length
  const similar = forName === 0 ? suggest(name, namesOf(all)) : undefined
  return present({ forQueue: alive.length, forName, similar })
}
