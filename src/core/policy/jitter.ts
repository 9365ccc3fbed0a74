import type { Jitter } from './policy.js'

/** Whole milliseconds, both ends included, from which a delay is drawn. */
export interface DelayWindow {
  readonly lo: number
  readonly hi: number
}

/**
 * The window around a delay that is already capped. It is cut to the cap; a *draw* never is: cutting draws would
 * put half of them on exactly the cap and cause a thundering herd again.
 */
export function jitterWindow(jitter: Jitter, delayMs: number, capMs: number): DelayWindow {
  switch (jitter) {
    case 'none':
      return { lo: delayMs, hi: delayMs }
    case 'full':
      return { lo: 0, hi: delayMs }
    // Decorrelated builds on an exponential base. Without one, equal jitter is the nearest: wide, and never immediate.
    case 'equal':
    case 'decorrelated':
      return { lo: Math.round(delayMs / 2), hi: delayMs }
    default: {
      const spread = delayMs * jitter
      return { lo: Math.round(delayMs - spread), hi: Math.round(Math.min(delayMs + spread, capMs)) }
    }
  }
}

/** From the base to three times the last backoff. */
export function decorrelatedWindow(baseMs: number, previousMs: number, capMs: number): DelayWindow {
  const lo = Math.round(Math.min(baseMs, capMs))
  return { lo, hi: Math.max(lo, Math.round(Math.min(capMs, 3 * previousMs))) }
}

/** The draw: every whole millisecond of the window is equally likely. 0 ≤ u < 1. */
export function pick(window: DelayWindow, u: number): number {
  const drawn = window.lo + Math.floor(u * (window.hi - window.lo + 1))
  // A faulty generator (u = 1, NaN) must not leave the window.
  return Math.max(window.lo, Math.min(window.hi, drawn || window.lo))
}

export function jitterLabel(jitter: Jitter): string {
  return typeof jitter === 'number' ? `±${Math.round(jitter * 1_000) / 10} %` : jitter
}
