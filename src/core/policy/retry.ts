import type { DecisionRecord, Failure } from '../job/transition.js'
import { DAY_MS, formatMs } from '../values/duration.js'
import { type ComputedBackoff, capMs, delayWindow, rawDelay } from './backoff.js'
import { type DelayWindow, jitterLabel, jitterWindow, pick } from './jitter.js'
import type { Policy } from './policy.js'
import { PRESETS } from './presets.js'

/** The only wait that may exceed the cap, since it is the server's word; but no server's word counts for longer. */
export const RETRY_AFTER_MAX_MS = DAY_MS
/** Those who were told the same time come back spread over a tenth of it, later, never earlier. */
const RETRY_AFTER_SPREAD = 0.1

export interface RetryPlan {
  readonly delayMs: number
  /** What decorrelated jitter builds on next time; absent where the backoff did not speak. */
  readonly backoffMs?: number
  /** More for the sentence, or nothing. */
  readonly remark: string
}

export interface Stop {
  readonly stop: string
}

type Told = Pick<Failure, 'delayMs' | 'retryAfterMs' | 'customDelayMs'>

/** When retry n runs, as the failure, the policy and the dice say. How that came about goes into the record. */
export function planRetry(
  policy: Policy,
  n: number,
  told: Told,
  previousMs: number | undefined,
  random: () => number,
  record: DecisionRecord,
): RetryPlan | Stop {
  record.strategy = policy.backoff.type
  record.jitter = jitterLabel(policy.jitter)
  record.capMs = capMs(policy)
  const plan = plannedBackoff(policy, n, told, previousMs, random, record)
  if ('stop' in plan || told.retryAfterMs === undefined || policy.retryAfter === false) return plan

  const asked = Math.min(told.retryAfterMs, RETRY_AFTER_MAX_MS)
  record.retryAfterMs = told.retryAfterMs
  const delayMs = pick({ lo: asked, hi: asked + Math.round(asked * RETRY_AFTER_SPREAD) }, random())
  if (delayMs <= plan.delayMs) return plan
  record.source = 'retry-after'
  return { ...plan, delayMs, remark: `${plan.remark}; told to wait ${formatMs(asked)}` }
}

function plannedBackoff(
  policy: Policy,
  n: number,
  told: Told,
  previousMs: number | undefined,
  random: () => number,
  record: DecisionRecord,
): RetryPlan | Stop {
  const { backoff } = policy
  if (backoff.type !== 'custom') return computed(policy, backoff, n, told.delayMs, previousMs, random, record)
  if (told.delayMs !== undefined) return byRule(policy, told.delayMs, random, record)
  if (told.customDelayMs === null) return { stop: `the custom backoff "${backoff.name}" said stop` }
  if (isDelay(told.customDelayMs)) return custom(policy, told.customDelayMs, record)
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

/** A rule's delay stands in for the backoff of this one failure; it does not feed the next. */
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

/** A function of the user's has the last word: capped, but not jittered. */
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
