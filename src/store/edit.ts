import type { Job } from '../core/job/job.js'
import type { PartialPolicy } from '../core/policy/policy.js'
import { timeOf } from './columns.js'
import type { RunTime } from './store.js'

/** What a waiting job is to be from now on; what is absent stays. */
export interface JobEdit {
  /** The job as it was read: where anything that an edit can touch has changed since, nothing is written. */
  readonly expect: Job
  readonly payload?: string
  readonly priority?: number
  readonly tags?: readonly string[]
  readonly queue?: string
  readonly runAt?: RunTime
  /** null takes it away. */
  readonly timeoutMs?: number | null
  readonly deadline?: RunTime | null
  readonly override?: PartialPolicy | null
  /** What the new payload depends on, where that follows from it. */
  readonly dependency?: string
}

/** A claim in between has raised `run`, even where the job waits again. */
export function isAsRead(job: Job, expect: Job): boolean {
  return job.state === 'waiting' && expect.state === 'waiting' && factsOf(job) === factsOf(expect)
}

function factsOf(job: Job): string {
  const { generation, run, queue, priority, runAt, payload, tags, timeoutMs, deadline, override } = job
  return JSON.stringify([generation, run, queue, priority, runAt, payload, tags, timeoutMs, deadline, override])
}

/**
 * The job with the edit. Its key stays, and so does what the key remembers: the payload that was enqueued. So whoever
 * repeats that enqueue is told `existing`, edited or not, and one with the edited payload is a conflict.
 */
export function edited(job: Job, edit: JobEdit, now: number): Job {
  const { timeoutMs: oldTimeout, deadline: oldDeadline, override: oldOverride, pass, ...rest } = job
  const timeoutMs = edit.timeoutMs === undefined ? oldTimeout : (edit.timeoutMs ?? undefined)
  const deadline =
    edit.deadline === undefined ? oldDeadline : edit.deadline === null ? undefined : timeOf(edit.deadline, now)
  const override = edit.override === undefined ? oldOverride : (edit.override ?? undefined)
  const isElsewhere = edit.dependency !== undefined && edit.dependency !== job.dependency
  return {
    ...rest,
    ...(edit.dependency !== undefined && { dependency: edit.dependency }),
    // The slot that the old dependency gave it is no good at another.
    ...(pass !== undefined && !isElsewhere && { pass }),
    payload: edit.payload ?? job.payload,
    priority: edit.priority ?? job.priority,
    tags: [...(edit.tags ?? job.tags)],
    queue: edit.queue ?? job.queue,
    runAt: edit.runAt === undefined ? job.runAt : timeOf(edit.runAt, now),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(deadline !== undefined && { deadline }),
    // What is stored is data: a later change of the caller's object must not reach it.
    ...(override !== undefined && { override: JSON.parse(JSON.stringify(override)) as PartialPolicy }),
  }
}
