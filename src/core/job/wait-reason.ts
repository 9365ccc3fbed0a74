import { type TurnFacts, turnWait } from '../partition/wait.js'
import type { Policy } from '../policy/policy.js'
import { formatMs } from '../values/duration.js'
import { present } from '../values/present.js'
import { BLOCK_CODES, type BlockCode, isHeld, type Job, phaseOf } from './job.js'
import type { Decision } from './lifecycle.js'
import { moment } from './moment.js'
import type { AttemptFacts } from './view.js'

/** The known facts about a job and its surroundings. A missing field is unknown, and the explanation leaves it out. */
export interface ExplainFacts extends Surroundings {
  readonly job: Job
  readonly policy: Policy
  readonly now: number
  /** The last few attempts, newest first. */
  readonly attempts: readonly AttemptFacts[]
  /** The live workers of its queue, and those of them that have its definition. */
  readonly workers?: {
    readonly forQueue: number
    readonly forName: number
    /** The name that was probably meant, if no worker knows its name. */
    readonly similar?: string
  }
}

/** What can hold a waiting job back. */
export interface Surroundings {
  readonly queue?: { readonly paused: boolean }
  /** The limits that it waits in; absent if its queue has none. */
  readonly turn?: TurnFacts
  readonly dependency?: DependencyFacts
  readonly budget?: { readonly limited: boolean; readonly nextAt?: number }
}

export interface DependencyFacts {
  readonly key: string
  readonly state: 'closed' | 'open' | 'half-open' | 'ramping'
  readonly openUntil?: number
  /** The other side asked not to be called earlier. */
  readonly notBefore?: number
  /** An operator opened it. */
  readonly forced?: boolean
  readonly reason?: string
  /** It limits how many retries may start. */
  readonly hasBudget?: boolean
}

/** Why a job that could run does not. */
export const WAIT_CODES = [
  'scheduled',
  'retry',
  'retry-after',
  'snoozed',
  ...BLOCK_CODES,
  'no-worker',
  'no-handler',
  'due',
] as const
export type WaitCode = (typeof WAIT_CODES)[number]

/** The same in a few words, for lists. */
export const BLOCK_WORDS: Readonly<Record<BlockCode, string>> = {
  'queue-paused': 'queue paused',
  'circuit-open': 'circuit open',
  'circuit-probing': 'circuit probing',
  'circuit-ramping': 'circuit ramping',
  'not-before': 'dependency throttled',
  budget: 'retry budget used',
  limit: 'limit reached',
  rate: 'rate limited',
  order: 'earlier job first',
  stopped: 'partition stopped',
}

export interface Waiting {
  readonly because: WaitCode
  readonly words: string
  readonly until?: number
}

/** Returns the first reason that holds: it has to change before any other matters. */
export function waitingOf(facts: ExplainFacts): Waiting {
  const { job, now, queue } = facts
  const planned = job.runAt > now ? plannedWait(facts) : undefined
  if (queue?.paused) {
    const meanwhile = planned ? `; otherwise, ${planned.words}` : ''
    return {
      because: 'queue-paused',
      words: `its queue "${job.queue}" is paused until an operator resumes it${meanwhile}`,
    }
  }
  return planned ?? limitWait(facts) ?? dependencyWait(facts) ?? workerWait(facts)
}

/** Why its time has not come yet. */
function plannedWait(facts: ExplainFacts): Waiting {
  const { job, now, policy } = facts
  const until = job.runAt
  const at = moment(until, now)
  const latest = facts.attempts[0]
  const mine = latest?.generation === job.generation ? latest : undefined
  const moved = mine?.nextRunAt !== undefined && mine.nextRunAt !== until
  if (isHeld(job, now)) {
    // It waits with all the jobs behind the same circuit, so its own time no longer counts.
    const dependency = dependencyWait(facts)
    if (dependency) return { ...dependency, until }
    if (mine?.status !== 'deferred') return { ...slotWait(facts), until }
  }
  if (mine?.status === 'snoozed') {
    return { because: 'snoozed', until, words: `its handler asked to run again ${at}${noteOf(mine)}` }
  }
  if (mine?.status === 'deferred') {
    return { because: deferredCode(mine.decision), until, words: `it was held back and may start ${at}${noteOf(mine)}` }
  }
  if (job.attempt === 0) return { because: 'scheduled', until, words: `it is scheduled to run ${at}` }
  const retry = `retry ${job.attempt} of ${Math.max(job.attempt, policy.maxRetries)} comes ${at}`
  const by = moved ? ', a time that was set manually' : ''
  const isRetryAfter = mine?.decision?.source === 'retry-after' && !moved
  return {
    because: isRetryAfter ? 'retry-after' : 'retry',
    until,
    words: isRetryAfter
      ? `${retry}, since the other side asked for ${formatMs(mine.decision!.retryAfterMs!)}`
      : retry + by,
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

/** Its dependency gave it a slot, and holds no other job back now. */
function slotWait({ job, now, dependency }: Pick<ExplainFacts, 'job' | 'now' | 'dependency'>): Blocking {
  const at = moment(job.runAt, now)
  if (dependency?.hasBudget && job.attempt > 0)
    return { because: 'budget', words: `the retry budget of "${job.dependency}" gave it a slot; it may start ${at}` }
  return { because: 'circuit-ramping', words: `"${job.dependency}" gets its jobs a few at a time; it may start ${at}` }
}

/** Why a job is blocked; undefined if it is not. */
export function blockedBy(job: Job, now: number, around: Surroundings): BlockCode | undefined {
  const limited = limitWait({ job, now, ...around })
  if (phaseOf(job, now, around.queue?.paused || limited !== undefined) !== 'blocked') return undefined
  if (job.runAt <= now) return around.queue?.paused ? 'queue-paused' : limited!.because
  return (dependencyWait({ ...around, now }) ?? slotWait({ job, now, ...around })).because
}

interface Blocking extends Waiting {
  readonly because: BlockCode
}

/** A limit of its queue or partition keeps it waiting, although its time has come. */
function limitWait({ job, now, turn }: Pick<ExplainFacts, 'job' | 'now' | 'turn'>): Blocking | undefined {
  return turn && job.state === 'waiting' && job.runAt <= now ? turnWait(turn, job.units, now) : undefined
}

/** Its dependency or a retry budget holds it back. */
function dependencyWait({ dependency, budget, now }: Surroundings & { readonly now: number }): Blocking | undefined {
  if (dependency) {
    const because = dependency.reason === undefined ? '' : ` (${dependency.reason})`
    const until = dependency.openUntil
    if (dependency.state === 'open' && dependency.forced) {
      return { because: 'circuit-open', words: `the circuit of "${dependency.key}" was opened manually${because}` }
    }
    if (dependency.state === 'open') {
      const next = until === undefined ? '' : `; it is tried again ${moment(until, now)}`
      const words = `the circuit of "${dependency.key}" is open${because}${next}`
      return present({ because: 'circuit-open', words, until })
    }
    if (dependency.state === 'half-open') {
      return { because: 'circuit-probing', words: `one job probes whether "${dependency.key}" has recovered${because}` }
    }
    if (dependency.notBefore !== undefined && dependency.notBefore > now) {
      const words = `"${dependency.key}" is throttled; it may start ${moment(dependency.notBefore, now)}`
      return { because: 'not-before', words, until: dependency.notBefore }
    }
    if (dependency.state === 'ramping') {
      return {
        because: 'circuit-ramping',
        words: `"${dependency.key}" has just recovered, and gets its jobs a few at a time`,
      }
    }
  }
  if (!budget?.limited) return undefined
  const next = budget.nextAt === undefined ? '' : `; the next may start ${moment(budget.nextAt, now)}`
  const words = `its retry budget is used up, and first attempts go first${next}`
  return present({ because: 'budget', words, until: budget.nextAt })
}

/** It is due and only needs a worker. */
function workerWait({ job, now, workers }: ExplainFacts): Waiting {
  const late = now - job.runAt
  const due = late >= 1_000 ? `it has been due for ${formatMs(late)}` : 'it is due'
  if (workers?.forQueue === 0) {
    return { because: 'no-worker', words: `${due}, but no worker is alive for its queue "${job.queue}"` }
  }
  if (workers?.forName === 0) {
    const meant = workers.similar === undefined ? '' : `; did you mean "${workers.similar}"?`
    return { because: 'no-handler', words: `${due}, but no worker of its queue knows the job "${job.name}"${meant}` }
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
