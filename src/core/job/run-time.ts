/** When to run: after a delay on the store's clock, or at a time. */
export type RunTime = { readonly delayMs: number } | { readonly at: number }

/** Rounded up, so that a job never runs early. */
export function timeOf(time: RunTime, now: number): number {
  return Math.ceil('at' in time ? time.at : now + time.delayMs)
}
