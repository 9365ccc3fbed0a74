import type { Dependency } from '../../core/dependency/dependency.js'
import { circuitState } from '../../core/dependency/state.js'
import { type BlockCode, isHeld, type Job } from '../../core/job/job.js'
import { blockedBy, type DependencyFacts, type Surroundings } from '../../core/job/wait-reason.js'
import { present } from '../../core/values/present.js'
import type { Store } from '../../store/store.js'
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
  const [paused, dependencies] = await Promise.all([
    waiting.some(({ runAt }) => runAt <= now) ? pausedQueues(store) : new Set<string>(),
    readDependencies(
      store,
      waiting.filter(job => isHeld(job, now)),
      now,
    ),
  ])
  return job => blockedBy(job, now, { queue: { paused: paused.has(job.queue) }, ...dependencies(job) })
}

async function pausedQueues(store: Store): Promise<ReadonlySet<string>> {
  return new Set((await store.queues()).filter(({ paused }) => paused).map(({ name }) => name))
}

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
