import { signal } from '@preact/signals'

/**
 * The only place with the browser's clock and timers. `now` is corrected to the server's clock, as known from the event stream.
 */
let skewMs = 0

/** Updated once a second while the page is visible. Relative times follow it. */
export const now = signal(Date.now())

export function serverNow(): number {
  return Date.now() + skewMs
}

/** Takes a time that the server has just sent. */
export function learnServerTime(at: number): void {
  const skew = at - Date.now()
  // A smaller difference is network latency.
  skewMs = Math.abs(skew) < 1_000 ? 0 : skew
}

/** Runs a function later; the result cancels it. */
export function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

export function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms)
  return () => clearInterval(timer)
}

export function freshKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), part => part.toString(36)).join('-')
}

export function startClock(): void {
  const tick = (): void => {
    if (!document.hidden) now.value = serverNow()
  }
  every(1_000, tick)
  document.addEventListener('visibilitychange', tick)
}
