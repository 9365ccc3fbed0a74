import type { PartialPolicy } from '../policy/policy.js'
import type { Job } from './job.js'
import { type RunTime, timeOf } from './run-time.js'

// The changes of a job other than its own runs (`lifecycle.ts`). A store locks the jobs, calls one of these rules and
// writes the result; `test/core/job/changes.test.ts` is the table.

/**
 * Returns the changed job; `undefined` if its state does not allow the change; the same object if the change was
 * already made, by a call whose response was lost. `index` is the position of the job in the batch. A running job stays
 * running and only gets a request: `settle` is the only transition out of `running`.
 */
export type JobChange = (job: Job, now: number, index: number) => Job | undefined

type Draft = { -readonly [Field in keyof Job]: Job[Field] }

/** waiting → cancelled; running → cancellation requested. */
export const cancel: JobChange = (job, now) => {
  if (job.state === 'running') return { ...job, cancelRequested: true }
  return job.state === 'waiting' ? ended(job, 'cancelled', now) : undefined
}

/** waiting → dead, if the deadline has passed. */
export const expire: JobChange = (job, now) => {
  const isOverdue = job.state === 'waiting' && job.deadline !== undefined && job.deadline <= now
  return isOverdue ? { ...ended(job, 'dead', now), reason: 'expired' } : undefined
}

function ended(job: Job, state: 'cancelled' | 'dead', finishedAt: number): Job {
  const { pass, ...kept } = job
  return { ...kept, state, finishedAt }
}

/** Moves a waiting job to another time. */
export function reschedule(at: RunTime): JobChange {
  return (job, now) => (job.state === 'waiting' ? movedTo(job, timeOf(at, now), now) : undefined)
}

/** A later time replaces the slot that its dependency gave it; a job that is to run now keeps its slot. */
export function movedTo<J extends Pick<Job, 'runAt' | 'pass'>>(job: J, runAt: number, now: number): J {
  if (runAt <= now) return { ...job, runAt }
  const { pass, ...kept } = job
  return { ...kept, runAt } as unknown as J
}

/** Marks a dead job as acknowledged: it stays dead and raises no more alerts. */
export const acknowledge: JobChange = (job, now) => {
  if (job.state !== 'dead') return undefined
  return job.acknowledgedAt === undefined ? { ...job, acknowledgedAt: now } : job
}

/** Marks a dead job as discarded; its record stays. */
export const discard: JobChange = (job, now) => {
  if (job.state !== 'dead') return undefined
  return job.reason === 'discarded' ? job : { ...job, reason: 'discarded', acknowledgedAt: job.acknowledgedAt ?? now }
}

// ---------------------------------------------------------------- redrive

export interface RedriveOptions {
  readonly redriveId?: string
  /** How long each job of the batch waits before it may run; 0 if absent. */
  readonly delaysMs?: readonly number[]
  /** Only jobs that have ended by this time: one that has been started since, and has died again, is another matter. */
  readonly endedBy?: number
}

/** dead | cancelled → waiting, as a new generation. */
export function redrive({ redriveId, delaysMs = [], endedBy }: RedriveOptions = {}): JobChange {
  return (job, now, index) => {
    if (redriveId !== undefined && job.redriveId === redriveId) return job
    if (job.state !== 'dead' && job.state !== 'cancelled') return undefined
    if (endedBy !== undefined && (job.finishedAt ?? 0) > endedBy) return undefined
    const next = nextGeneration(job, timeOf({ delayMs: delaysMs[index] ?? 0 }, now), now)
    return redriveId === undefined ? next : { ...next, redriveId }
  }
}

/** The fields with which every generation starts. */
export const FRESH = {
  state: 'waiting',
  attempt: 0,
  snoozes: 0,
  releases: 0,
  losses: 0,
  strikes: 0,
  suspect: false,
  begun: false,
  cancelRequested: false,
} as const

function nextGeneration(job: Job, runAt: number, now: number): Job {
  const { reason, startedAt, firstStartedAt, finishedAt, backoffMs, failedAt, ...others } = job
  const { deadline, pass, lane, acknowledgedAt, redriveId, result, error, progress, ...kept } = others
  const next: Draft = { ...kept, ...FRESH, generation: job.generation + 1, runAt }
  // A deadline in the past would end the job at once, and a redrive asks for a run.
  if (deadline !== undefined && deadline > now) next.deadline = deadline
  return next
}

// ---------------------------------------------------------------- edit

/** The new values of a waiting job; absent fields keep their value. */
export interface JobEdit {
  /** The job as the caller read it: if a field that an edit can change has changed since, the edit is refused. */
  readonly expect: Job
  readonly payload?: string
  readonly priority?: number
  readonly tags?: readonly string[]
  readonly queue?: string
  readonly runAt?: RunTime
  /** null removes it. */
  readonly timeoutMs?: number | null
  readonly deadline?: RunTime | null
  readonly override?: PartialPolicy | null
  /** The dependency of the new payload, if it is derived from the payload. */
  readonly dependency?: string
}

/**
 * Edits a waiting job. Its key stays, and the key still stands for the payload that was enqueued: repeating that
 * enqueue returns `existing`, and enqueuing the edited payload is a conflict.
 */
export function edit(asked: JobEdit): JobChange {
  return (job, now) => (isAsRead(job, asked.expect) ? edited(job, asked, now) : undefined)
}

/** A claim in between has raised `run`, even if the job waits again. */
function isAsRead(job: Job, expect: Job): boolean {
  return job.state === 'waiting' && expect.state === 'waiting' && factsOf(job) === factsOf(expect)
}

function factsOf(job: Job): string {
  const { generation, run, queue, priority, runAt, payload, tags, timeoutMs, deadline, override } = job
  return JSON.stringify([generation, run, queue, priority, runAt, payload, tags, timeoutMs, deadline, override])
}

function edited(job: Job, asked: JobEdit, now: number): Job {
  const moved = asked.runAt === undefined ? job : movedTo(job, timeOf(asked.runAt, now), now)
  const next: Draft = { ...moved, tags: [...(asked.tags ?? job.tags)] }
  if (asked.payload !== undefined) next.payload = asked.payload
  if (asked.priority !== undefined) next.priority = asked.priority
  if (asked.queue !== undefined && asked.queue !== job.queue) {
    next.queue = asked.queue
    // The other queue has limits of its own.
    delete next.lane
  }
  if (asked.timeoutMs === null) delete next.timeoutMs
  else if (asked.timeoutMs !== undefined) next.timeoutMs = asked.timeoutMs
  if (asked.deadline === null) delete next.deadline
  else if (asked.deadline !== undefined) next.deadline = timeOf(asked.deadline, now)
  if (asked.override === null) delete next.override
  // A copy, so that later changes of the caller's object do not reach the store.
  else if (asked.override !== undefined) next.override = JSON.parse(JSON.stringify(asked.override)) as PartialPolicy
  if (asked.dependency !== undefined && asked.dependency !== job.dependency) {
    next.dependency = asked.dependency
    // A slot of the old dependency is not valid for the new one.
    delete next.pass
  }
  return next
}
