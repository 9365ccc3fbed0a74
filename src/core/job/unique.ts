import { type Duration, formatMs, toMs } from '../values/duration.js'
import { movedTo } from './changes.js'
import type { Job } from './job.js'
import { type RunTime, timeOf } from './run-time.js'

// What an enqueue does when another job has its `unique` value. Without a mode, it returns the waiting or running job.

export const UNIQUE_MODES = ['replace', 'debounce', 'throttle'] as const

/** The waiting job with the value takes the payload; with `debounce`, it also moves to a later time. */
export type Replacement =
  | { readonly mode: 'replace' }
  | { readonly mode: 'debounce'; readonly forMs: number; readonly maxWaitMs: number }

/** One job is created per value and time, also after that job has ended. */
export interface Throttle {
  readonly value: string
  readonly forMs: number
}

/** What a store gets: a throttled job does not hold its value, so it has no `unique`. */
export interface UniqueFields {
  readonly unique?: string
  readonly replacement?: Replacement
  readonly throttle?: Throttle
}

/** Without `maxWait`, a debounced job waits at most this many times `for`, so that a steady stream can't starve it. */
const MAX_WAIT_FACTOR = 10

/** The options of an enqueue that the modes depend on. */
interface UniqueOptions {
  readonly unique?: string | undefined
  readonly mode?: (typeof UNIQUE_MODES)[number] | undefined
  readonly for?: Duration | undefined
  readonly maxWait?: Duration | undefined
  readonly delay?: unknown
  readonly runAt?: unknown
}

/** The fields of a new job, from checked options. */
export function uniqueFieldsOf({ unique, mode, for: window, maxWait }: UniqueOptions): UniqueFields {
  if (unique === undefined) return {}
  if (mode === undefined) return { unique }
  if (mode === 'replace') return { unique, replacement: { mode } }
  const forMs = toMs(window, 'for')
  if (mode === 'throttle') return { throttle: { value: unique, forMs } }
  const maxWaitMs = maxWait === undefined ? forMs * MAX_WAIT_FACTOR : toMs(maxWait, 'maxWait')
  return { unique, replacement: { mode, forMs, maxWaitMs } }
}

/** The time of the first job of a value; undefined if its mode does not set it. */
export function firstTimeOf(how: Replacement): RunTime | undefined {
  return how.mode === 'debounce' ? { delayMs: how.forMs } : undefined
}

/** What is wrong with a combination of options, in words. */
export function wrongMode(given: UniqueOptions): string | undefined {
  const { unique, mode, for: window, maxWait } = given
  if (mode === undefined) return withoutMode(given)
  if (unique === undefined)
    return `mode "${mode}" needs a unique value; give unique, or leave mode out to enqueue every job`
  if (mode === 'replace' && window !== undefined)
    return `for ${said(window)} has no effect with mode "replace"; leave for out, or give mode "debounce" or "throttle"`
  if (mode !== 'replace' && window === undefined) return `mode "${mode}" needs a duration; give for, such as "30s"`
  if (maxWait === undefined) return mode === 'debounce' ? twoDelays(given) : undefined
  if (mode !== 'debounce')
    return `maxWait ${said(maxWait)} has no effect with mode "${mode}"; leave maxWait out, or give mode "debounce"`
  if (toMs(maxWait, 'maxWait') < toMs(window, 'for'))
    return `maxWait ${said(maxWait)} is shorter than for ${said(window!)}; give a longer maxWait, or a shorter for`
  return twoDelays(given)
}

function withoutMode({ for: window, maxWait }: UniqueOptions): string | undefined {
  if (window !== undefined)
    return `for ${said(window)} needs a mode; give mode "debounce" or "throttle", or leave for out`
  return maxWait === undefined
    ? undefined
    : `maxWait ${said(maxWait)} needs a mode; give mode "debounce", or leave maxWait out`
}

function twoDelays({ delay, runAt }: UniqueOptions): string | undefined {
  const given = delay !== undefined ? 'delay' : runAt !== undefined ? 'runAt' : undefined
  return given && `mode "debounce" sets the time by for; leave ${given} out, or give mode "replace"`
}

const said = (given: Duration): string => (typeof given === 'number' ? formatMs(given) : `"${given}"`)

/** The newest enqueue of a value, as far as the waiting job takes it over. */
export interface Newest extends Pick<Job, 'payload' | 'delivery' | 'dependency'> {
  readonly deadline?: RunTime
  readonly replacement?: Replacement
}

/** The fields that a waiting job takes over from the newest enqueue, or changes because of it. */
export type Taken = Pick<Job, 'payload' | 'runAt' | 'pass' | 'deadline' | 'dependency'>
/** The fields that decide about it. */
export type Standing = Taken & Pick<Job, 'state' | 'delivery' | 'run' | 'generation' | 'createdAt'>

/**
 * What a job with the value takes over; `undefined` if the enqueue needs a job of its own. A job that may run twice never
 * takes the payload of one that may not, or the other way round.
 */
export function newestOf(job: Standing, newest: Newest, now: number): Taken | undefined {
  if (job.state !== 'waiting' || job.delivery !== newest.delivery) return undefined
  const { runAt, pass } = timed(job, newest.replacement, now)
  const { payload, dependency, deadline } = newest
  return {
    payload,
    runAt,
    // A slot of the old dependency is not valid for the new one.
    ...(pass !== undefined && dependency === job.dependency && { pass }),
    ...(dependency !== undefined && { dependency }),
    ...(deadline !== undefined && { deadline: timeOf(deadline, now) }),
  }
}

/** The job with what it takes over. */
export function takeNewest(job: Job, newest: Newest, now: number): Job | undefined {
  const taken = newestOf(job, newest, now)
  if (!taken) return undefined
  const { pass: _pass, deadline: _deadline, dependency: _dependency, ...kept } = job
  return { ...kept, ...taken }
}

/**
 * Only a job that has never started is moved: the time of a retry, a snooze or a redrive is a decision of its own, and a
 * burst of enqueues must not shorten the backoff of a failing job.
 */
function timed(job: Standing, how: Replacement | undefined, now: number): Pick<Job, 'runAt' | 'pass'> {
  if (how?.mode !== 'debounce' || job.run > 0 || job.generation > 1) return job
  const latest = timeOf({ delayMs: how.maxWaitMs }, job.createdAt)
  return movedTo(job, Math.min(timeOf({ delayMs: how.forMs }, now), latest), now)
}
