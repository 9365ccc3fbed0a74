/** When something is to happen: a while from now, on the clock of the store, or at a time. */
export type RunTime = { readonly delayMs: number } | { readonly at: number }

/** Rounded up, so that nothing happens before its time. */
export function timeOf(time: RunTime, now: number): number {
  return Math.ceil('at' in time ? time.at : now + time.delayMs)
}
