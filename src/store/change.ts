import type { JobChange } from '../core/job/changes.js'
import type { Job } from '../core/job/job.js'
import type { DeltaDraft } from './delta.js'
import type { JobWrite } from './job-columns.js'
import { isLive, keyOf } from './scope.js'
import type { Changed, Following, NewJob } from './store.js'

/** What a store knows once it has locked the jobs of a change. */
export interface Locked {
  readonly now: number
  find(id: string): Job | undefined
  /** The id of the waiting or running job with the same `unique` value, tenant and name as this one. */
  liveUnique(job: Job): string | undefined
}

export interface ChangePlan {
  /** The answers in the order of the batch. */
  readonly answers: readonly Changed[]
  /** The jobs to write, each of them once. */
  readonly writes: readonly JobWrite[]
  /** The jobs to enqueue in the same transaction. */
  readonly following: readonly NewJob[]
}

/**
 * Plans what the `change` operation writes and returns; every store uses it. Jobs are decided one after another: a
 * repeated id sees the first change, and of two dead jobs with the same `unique` value only the first is redriven.
 */
export function planChanges(
  ids: readonly string[],
  decide: JobChange,
  following: Following | undefined,
  { now, find, liveUnique }: Locked,
  delta: DeltaDraft,
): ChangePlan {
  const writes = new Map<string, { readonly before: Job; next: Job }>()
  const live = new Map<string, string | undefined>()
  const jobs: NewJob[] = []

  const change = (id: string, index: number): Changed => {
    const found = find(id)
    if (!found) return { id, status: 'not-found' }
    const job = writes.get(found.id)?.next ?? found
    const next = decide(job, now, index)
    if (next === undefined) return { id, status: 'refused', job }
    if (next === job) return { id, status: 'changed', job }
    const conflictId = takeUnique(job, next)
    if (conflictId !== undefined) return { id, status: 'refused', job, conflictId }
    write(job, next)
    return { id, status: next.state === 'running' ? 'requested' : 'changed', job: next }
  }

  const takeUnique = (job: Job, next: Job): string | undefined => {
    if (job.unique === undefined || isLive(job) === isLive(next)) return undefined
    const scope = keyOf(job, job.unique)
    const other = isLive(next) ? (live.has(scope) ? live.get(scope) : liveUnique(job)) : undefined
    if (other === undefined) live.set(scope, isLive(next) ? job.id : undefined)
    return other
  }

  const write = (job: Job, next: Job): void => {
    if (job.state === 'running' && next.state !== 'running')
      throw new Error(`a change can't end the run of job ${job.id}; only settle can`)
    if (next.state !== 'running') jobs.push(...(following?.(next) ?? []))
    delta.changed(job, next)
    const known = writes.get(job.id)
    if (known) known.next = next
    else writes.set(job.id, { before: job, next })
  }

  return { answers: ids.map(change), writes: [...writes.values()], following: jobs }
}
