import { signal } from '@preact/signals'

/**
 * The browser's clock and timers: the one place of the dashboard that has them. Its `now` is the server's, as far as
 * the stream of events has told how far apart the two are.
 */
let skewMs = 0

/** Ticks once a second while somebody looks; relative times follow it. */
export const now = signal(Date.now())

export function serverNow(): number {
  return Date.now() + skewMs
}

/** What the server's clock said just now. */
export function learnServerTime(at: number): void {
  const skew = at - Date.now()
  // Less than this is the way that the message took.
  skewMs = Math.abs(skew) < 1_000 ? 0 : skew
}

/** Runs it later; gives how to forget it. */
export function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

export function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms)
  return () => clearInterval(timer)
}

/** For keys of requests that must not be carried out twice. */
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
