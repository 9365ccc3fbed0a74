import type { Policy } from '../policy/policy.js'
import { formatMs } from '../values/duration.js'
import type { Job } from './job.js'
import type { Decision } from './lifecycle.js'
import { type AttemptFacts, timeText } from './view.js'

/** What is known about a job and what is around it. What is left out is not known, and nothing is said of it. */
export interface ExplainFacts {
  readonly job: Job
  readonly policy: Policy
  readonly now: number
  /** The last few, newest first. */
  readonly attempts: readonly AttemptFacts[]
  readonly queue?: { readonly paused: boolean }
  readonly dependency?: DependencyFacts
  readonly budget?: { readonly limited: boolean; readonly nextAt?: number }
  /** Workers that are alive: for its queue, and those of them that have its definition. */
  readonly workers?: { readonly forQueue: number; readonly forName: number }
}

export interface DependencyFacts {
  readonly key: string
  readonly state: 'closed' | 'open' | 'half-open' | 'ramping'
  readonly openUntil?: number
  /** The other side said not to come back earlier. */
  readonly notBefore?: number
  /** By hand. */
  readonly forced?: boolean
  readonly reason?: string
}

/** Why a job that could run does not. */
export type WaitCode =
  | 'scheduled'
  | 'retry'
  | 'retry-after'
  | 'snoozed'
  | 'queue-paused'
  | 'circuit-open'
  | 'circuit-probing'
  | 'circuit-ramping'
  | 'not-before'
  | 'budget'
  | 'no-worker'
  | 'no-handler'
  | 'due'

export interface Waiting {
  readonly because: WaitCode
  readonly words: string
  readonly until?: number
}

/** The first that holds: what has to change before anything else matters. */
export function waitingOf(facts: ExplainFacts): Waiting {
  const { job, now, queue } = facts
  const planned = job.runAt > now ? plannedWait(facts) : undefined
  if (queue?.paused) {
    const meanwhile = planned ? `; otherwise, ${planned.words}` : ''
    return {
      because: 'queue-paused',
      words: `its queue "${job.queue}" is paused until somebody resumes it${meanwhile}`,
    }
  }
  return planned ?? dependencyWait(facts) ?? workerWait(facts)
}

/** Why its time has not come yet. */
function plannedWait(facts: ExplainFacts): Waiting {
  const { job, now, policy } = facts
  const until = job.runAt
  const at = moment(until, now)
  const latest = facts.attempts[0]
  const mine = latest?.generation === job.generation ? latest : undefined
  const moved = mine?.nextRunAt !== undefined && mine.nextRunAt !== until
  const dependency = dependencyWait(facts)
  // Parked with all the others that wait for the same: its own time no longer counts.
  if (dependency && (moved || mine?.status === 'deferred')) return { ...dependency, until }
  if (mine?.status === 'snoozed') {
    return { because: 'snoozed', until, words: `its handler asked to run again ${at}${noteOf(mine)}` }
  }
  if (mine?.status === 'deferred') {
    return { because: deferredCode(mine.decision), until, words: `it was held back and may start ${at}${noteOf(mine)}` }
  }
  if (job.attempt === 0) return { because: 'scheduled', until, words: `it is scheduled to run ${at}` }
  const retry = `retry ${job.attempt} of ${Math.max(job.attempt, policy.maxRetries)} comes ${at}`
  const by = moved ? ', a time that somebody set' : ''
  const told = mine?.decision?.source === 'retry-after' && !moved
  return {
    because: told ? 'retry-after' : 'retry',
    until,
    words: told ? `${retry}, since the other side asked for ${formatMs(mine.decision!.retryAfterMs!)}` : retry + by,
  }
}

function deferredCode(decision: Decision | undefined): WaitCode {
  switch (decision?.deferredBy) {
    case 'budget':
      return 'budget'
    case 'ramp':
      return 'circuit-ramping'
    default:
      return 'circuit-open'
  }
}

/** What it depends on, or has to share, keeps it. */
function dependencyWait({ dependency, budget, now }: ExplainFacts): Waiting | undefined {
  if (dependency) {
    const because = dependency.reason === undefined ? '' : ` (${dependency.reason})`
    const until = dependency.openUntil
    if (dependency.state === 'open' && dependency.forced) {
      return { because: 'circuit-open', words: `the circuit of "${dependency.key}" was opened by hand${because}` }
    }
    if (dependency.state === 'open') {
      const next = until === undefined ? '' : `; it is tried again ${moment(until, now)}`
      const words = `the circuit of "${dependency.key}" is open${because}${next}`
      return { because: 'circuit-open', words, ...(until !== undefined && { until }) }
    }
    if (dependency.state === 'half-open') {
      return { because: 'circuit-probing', words: `one job tries whether "${dependency.key}" is back${because}` }
    }
    if (dependency.notBefore !== undefined && dependency.notBefore > now) {
      const words = `"${dependency.key}" asked to be left alone; it may start ${moment(dependency.notBefore, now)}`
      return { because: 'not-before', words, until: dependency.notBefore }
    }
    if (dependency.state === 'ramping') {
      return {
        because: 'circuit-ramping',
        words: `"${dependency.key}" has just come back, and gets its jobs a few at a time`,
      }
    }
  }
  if (!budget?.limited) return undefined
  const next = budget.nextAt === undefined ? '' : `; the next may start ${moment(budget.nextAt, now)}`
  const words = `its retry budget is used up, and first attempts go first${next}`
  return { because: 'budget', words, ...(budget.nextAt !== undefined && { until: budget.nextAt }) }
}

/** It is due, and only somebody to run it is missing. */
function workerWait({ job, now, workers }: ExplainFacts): Waiting {
  const late = now - job.runAt
  const due = late >= 1_000 ? `it has been due for ${formatMs(late)}` : 'it is due'
  if (workers?.forQueue === 0) {
    return { because: 'no-worker', words: `${due}, but no worker is alive for its queue "${job.queue}"` }
  }
  if (workers?.forName === 0) {
    return { because: 'no-handler', words: `${due}, but no worker of its queue knows the job "${job.name}"` }
  }
  return { because: 'due', words: `${due}, and waits for a worker with a free slot` }
}

const MESSAGE_SHOWN = 200

export function brief(message: string): string {
  const line = message.replace(/\s+/g, ' ').trim()
  return line.length > MESSAGE_SHOWN ? `${line.slice(0, MESSAGE_SHOWN)}…` : line
}

function noteOf({ note }: AttemptFacts): string {
  return note === undefined ? '' : `: ${brief(note)}`
}

/** How far away, and exactly when. */
export function moment(at: number, now: number): string {
  return at > now ? `in ${formatMs(at - now)} (${timeText(at)})` : `now`
}
