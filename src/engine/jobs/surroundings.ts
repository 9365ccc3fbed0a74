import type { Dependency } from '../../core/dependency/dependency.js'
import { circuitState } from '../../core/dependency/state.js'
import { type BlockCode, isHeld, type Job } from '../../core/job/job.js'
import { blockedBy, type DependencyFacts, type Surroundings } from '../../core/job/wait-reason.js'
import { present } from '../../core/values/present.js'
import type { PartitionRecord, QueueRecord, Store } from '../../store/store.js'
import { dependencyId, ownerOf } from '../dependencies/answer.js'
import { DEPENDENCY } from '../dependencies/dependencies.js'
import { bodyOf } from '../records/records.js'

/** What holds each of these jobs back, read once for all of them; nothing is read for jobs that can't be blocked. */
export async function blocksOf(
  store: Store,
  jobs: readonly Job[],
  now: number,
): Promise<(job: Job) => BlockCode | undefined> {
  const waiting = jobs.filter(({ state }) => state === 'waiting')
  const due = waiting.filter(({ runAt }) => runAt <= now)
  const [queues, dependencies] = await Promise.all([
    due.length > 0 ? store.queues() : [],
    readDependencies(
      store,
      waiting.filter(job => isHeld(job, now)),
      now,
    ),
  ])
  const paused = new Set(queues.filter(queue => queue.paused).map(({ name }) => name))
  const turns = await readTurns(store, due, queues)
  return job => blockedBy(job, now, { queue: { paused: paused.has(job.queue) }, ...turns(job), ...dependencies(job) })
}

/** The limits that these jobs wait in, by job; nothing is read for jobs of queues without limits. */
export async function readTurns(
  store: Store,
  jobs: readonly Job[],
  queues: readonly QueueRecord[],
): Promise<(job: Job) => Pick<Surroundings, 'turn'>> {
  const limited = queues.filter(({ limits }) => limits !== undefined)
  const found = new Map<string, PartitionRecord>()
  for (const { name: queue } of limited) {
    const names = new Set(jobs.flatMap(job => (job.queue === queue && job.lane !== undefined ? job.lane : [])))
    if (names.size === 0) continue
    const records = await store.partitions!(queue, { names: [...names], cap: WAITING_CAP })
    for (const record of records) found.set(`${queue} ${record.name}`, record)
  }
  const byName = new Map(limited.map(queue => [queue.name, queue]))
  return ({ queue: name, lane }) => {
    const queue = byName.get(name)
    if (!queue?.limits || lane === undefined) return {}
    const record = found.get(`${name} ${lane}`)
    const { running = 0, state = {}, waiting, stoppedBy } = record ?? {}
    const count = waiting?.relation === 'exact' ? waiting.value : undefined
    const partition = present({ name: lane, running, state, waiting: count, stoppedBy })
    return { turn: { queue: name, limits: queue.limits, queueState: queue.turn ?? {}, partition } }
  }
}

/** Enough to know whether a job waits alone. */
const WAITING_CAP = 2

/** The dependencies of these jobs, by job. */
export async function readDependencies(
  store: Store,
  jobs: readonly Job[],
  now: number,
): Promise<(job: Job) => Pick<Surroundings, 'dependency'>> {
  const ids = [...new Set(jobs.flatMap(job => idOf(job) ?? []))]
  const records = ids.length === 0 ? [] : await store.records(DEPENDENCY, { ids })
  const found = new Map(records.map(record => [record.id, record]))
  return job => {
    const record = found.get(idOf(job) ?? '')
    const [dependency] = record ? bodyOf<Dependency>(record) : []
    return dependency ? { dependency: factsOf(dependency, now) } : {}
  }
}

function idOf(job: Job): string | undefined {
  const { dependency: key } = job
  return key === undefined ? undefined : dependencyId(present({ key, tenantId: ownerOf(job, key) }))
}

function factsOf(dependency: Dependency, now: number): DependencyFacts {
  const { key, circuit, openUntil, forced, reason, rampFrom, settings } = dependency
  return present({
    key,
    state: circuitState(dependency, now),
    ...(circuit === 'open' && openUntil !== undefined && { openUntil }),
    ...(rampFrom !== undefined && rampFrom > now && { notBefore: rampFrom }),
    ...(forced === 'open' && { forced: true }),
    ...(settings.budget && { hasBudget: true }),
    reason,
  })
}
