import { DAY_MS, toMs } from '../values/duration.js'
import { type DelayWindow, decorrelatedWindow, jitterWindow } from './jitter.js'
import type { Backoff, Policy } from './policy.js'

export const CAP_DEFAULT_MS = DAY_MS

/** A backoff whose delays follow from the retry's number alone. A custom one is computed by the worker's own code. */
export type ComputedBackoff = Exclude<Backoff, { readonly type: 'custom' }>

/**
 * The wait before retry n, uncapped and without jitter; n = 1 follows the first failure. May be Infinity.
 * null: the list is over.
 */
export function rawDelay(backoff: ComputedBackoff, n: number, stopAtMs = Number.POSITIVE_INFINITY): number | null {
  const retry = Math.max(1, n)
  switch (backoff.type) {
    case 'exponential':
      return times(toMs(backoff.base, 'backoff.base'), (backoff.factor ?? 2) ** (retry - 1))
    case 'linear': {
      const base = toMs(backoff.base, 'backoff.base')
      const increment = backoff.increment === undefined ? base : toMs(backoff.increment, 'backoff.increment')
      return base + increment * (retry - 1)
    }
    case 'fixed':
      return toMs(backoff.delay, 'backoff.delay')
    case 'fibonacci':
      return fibonacciDelay(toMs(backoff.base, 'backoff.base'), retry, stopAtMs)
    case 'list': {
      const last = backoff.delays.length
      if (retry > last && backoff.afterEnd !== 'repeat-last') return null
      const delay = backoff.delays[Math.min(retry, last) - 1]
      return delay === undefined ? null : toMs(delay, 'backoff.delays')
    }
  }
}

/** 0 · ∞ is NaN; without a base there is no wait. */
function times(baseMs: number, factor: number): number {
  return baseMs === 0 ? 0 : baseMs * factor
}

function fibonacciDelay(baseMs: number, n: number, stopAtMs: number): number {
  if (baseMs === 0) return 0
  let previous = 0
  let current = baseMs
  // The cap is reached after some dozens of steps, Infinity after 1,500: n itself may be a million.
  for (let i = 1; i < n && current < stopAtMs; i++) {
    const next = previous + current
    previous = current
    current = next
  }
  return current
}

/** The longest delay that a backoff names explicitly, in contrast to those that it computes. */
export function longestNamedMs(backoff: Backoff): number {
  switch (backoff.type) {
    case 'fixed':
      return toMs(backoff.delay, 'backoff.delay')
    case 'list':
      return backoff.delays.reduce<number>((longest, delay) => Math.max(longest, toMs(delay, 'backoff.delays')), 0)
    case 'custom':
      return 0
    default:
      return toMs(backoff.base, 'backoff.base')
  }
}

/** The maximum delay: the cap of the policy, or else the greater of 24 h and the longest delay that the backoff names. */
export function capMs(policy: Pick<Policy, 'backoff' | 'cap'>): number {
  if (policy.cap !== undefined) return toMs(policy.cap, 'cap')
  return Math.max(CAP_DEFAULT_MS, longestNamedMs(policy.backoff))
}

/** The delay before retry n without jitter, capped, in whole milliseconds. null: the list is over. */
export function cappedDelay(backoff: ComputedBackoff, n: number, ceilingMs: number): number | null {
  const raw = rawDelay(backoff, n, ceilingMs)
  return raw === null ? null : Math.round(Math.min(raw, ceilingMs))
}

/**
 * The window from which the delay before retry n is drawn: cap, then jitter, then the window is cut to the cap.
 * null: no further retry. A custom backoff may return anything up to the cap.
 */
export function delayWindow(
  policy: Pick<Policy, 'backoff' | 'jitter' | 'cap'>,
  n: number,
  previousMs?: number,
): DelayWindow | null {
  const { backoff, jitter } = policy
  const ceiling = capMs(policy)
  if (backoff.type === 'custom') return { lo: 0, hi: ceiling }
  if (jitter === 'decorrelated' && backoff.type === 'exponential') {
    const base = toMs(backoff.base, 'backoff.base')
    return decorrelatedWindow(base, n <= 1 ? base : (previousMs ?? base), ceiling)
  }
  const delay = cappedDelay(backoff, n, ceiling)
  return delay === null ? null : jitterWindow(jitter, delay, ceiling)
}
