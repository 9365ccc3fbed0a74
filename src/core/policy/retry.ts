import { retryAfterRemark } from '../job/sentence.js'
import type { DecisionRecord, Failure } from '../job/transition.js'
import { DAY_MS } from '../values/duration.js'
import { type ComputedBackoff, capMs, delayWindow, rawDelay } from './backoff.js'
import { type DelayWindow, jitterLabel, jitterWindow, pick } from './jitter.js'
import type { Policy } from './policy.js'
import { PRESETS } from './presets.js'

/** The longest `Retry-After` that is honoured. It is the only wait that may exceed the cap. */
const RETRY_AFTER_MAX_MS = DAY_MS

export interface RetryPlan {
  readonly delayMs: number
  /** The input of decorrelated jitter for the next retry; absent if the backoff was not used. */
  readonly backoffMs?: number
  /** An optional addition to the explanation. */
  readonly remark: string
}

export interface Stop {
  readonly stop: string
}

type RequestedDelays = Pick<Failure, 'delayMs' | 'retryAfterMs' | 'customDelayMs'>

/** The wait that the called service asked for with `Retry-After`, if the policy honours it. */
export function requestedWaitMs({ retryAfter = true }: Policy, { retryAfterMs }: RequestedDelays): number | undefined {
  return retryAfter && retryAfterMs !== undefined ? Math.min(retryAfterMs, RETRY_AFTER_MAX_MS) : undefined
}

/** Decides when retry n runs, and records how that was computed. */
export function planRetry(
  policy: Policy,
  n: number,
  requested: RequestedDelays,
  previousMs: number | undefined,
  random: () => number,
  record: DecisionRecord,
): RetryPlan | Stop {
  record.strategy = policy.backoff.type
  record.jitter = jitterLabel(policy.jitter)
  record.capMs = capMs(policy)
  const plan = plannedBackoff(policy, n, requested, previousMs, random, record)
  const waitMs = requestedWaitMs(policy, requested)
  if ('stop' in plan || waitMs === undefined) return plan

  record.retryAfterMs = requested.retryAfterMs!
  // Only a backoff that is longer by itself waits longer than the server asked; its jitter alone does not.
  const isLonger = Math.min(record.rawMs ?? 0, record.capMs) > waitMs
  if (isLonger && plan.delayMs >= waitMs) return plan
  record.source = 'retry-after'
  return { ...plan, delayMs: waitMs, remark: plan.remark + retryAfterRemark(waitMs) }
}

function plannedBackoff(
  policy: Policy,
  n: number,
  requested: RequestedDelays,
  previousMs: number | undefined,
  random: () => number,
  record: DecisionRecord,
): RetryPlan | Stop {
  const { backoff } = policy
  if (backoff.type !== 'custom') return computed(policy, backoff, n, requested.delayMs, previousMs, random, record)
  if (requested.delayMs !== undefined) return byRule(policy, requested.delayMs, random, record)
  if (requested.customDelayMs === null) return { stop: `the custom backoff "${backoff.name}" said stop` }
  if (isDelay(requested.customDelayMs)) return custom(policy, requested.customDelayMs, record)
  const standard = PRESETS.standard.backoff as ComputedBackoff
  record.strategy = standard.type
  const plan = computed(policy, standard, n, undefined, previousMs, random, record)
  const remark = `; the custom backoff "${backoff.name}" gave no usable delay, so the standard backoff holds`
  return 'stop' in plan ? plan : { ...plan, remark }
}

function computed(
  { jitter, cap }: Policy,
  backoff: ComputedBackoff,
  n: number,
  ruleDelayMs: number | undefined,
  previousMs: number | undefined,
  random: () => number,
  record: DecisionRecord,
): RetryPlan | Stop {
  const policy = cap === undefined ? { backoff, jitter } : { backoff, jitter, cap }
  const window = delayWindow(policy, n, previousMs)
  const raw = rawDelay(backoff, n, record.capMs)
  if (window === null || raw === null) return { stop: 'its list of delays is over' }
  if (ruleDelayMs !== undefined) return byRule(policy, ruleDelayMs, random, record)
  // Infinity is not JSON.
  record.rawMs = Math.min(Math.round(raw), Number.MAX_SAFE_INTEGER)
  record.source = 'backoff'
  const delayMs = draw(window, random, record)
  return { delayMs, backoffMs: delayMs, remark: '' }
}

/** The delay of a rule replaces the backoff for this failure only. */
function byRule(
  policy: Pick<Policy, 'backoff' | 'jitter' | 'cap'>,
  delayMs: number,
  random: () => number,
  record: DecisionRecord,
): RetryPlan {
  const ceiling = capMs(policy)
  record.rawMs = delayMs
  record.source = 'rule'
  const window = jitterWindow(policy.jitter, Math.min(delayMs, ceiling), ceiling)
  return { delayMs: draw(window, random, record), remark: '' }
}

/** The delay of a custom function is capped, but not jittered. */
function custom(policy: Policy, askedMs: number, record: DecisionRecord): RetryPlan {
  const delayMs = Math.round(Math.min(askedMs, capMs(policy)))
  record.jitter = 'none'
  record.rawMs = Math.round(askedMs)
  record.source = 'custom'
  return { delayMs, backoffMs: delayMs, remark: '' }
}

function draw(window: DelayWindow, random: () => number, record: DecisionRecord): number {
  record.windowMs = [window.lo, window.hi]
  if (window.lo === window.hi) return window.lo
  const u = random()
  record.draw = u
  return pick(window, u)
}

function isDelay(ms: number | null | undefined): ms is number {
  return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0
}
