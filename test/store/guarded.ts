import type { Guard } from '../../src/store/store.js'

/** Blocks this thread, like a handler that computes for too long. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** Blocks this thread until the guard's thread has renewed its leases. */
export function blockUntilRenewed(guard: Guard): void {
  for (const giveUpAt = performance.now() + 60_000; guard.keptUntil() === 0 && performance.now() < giveUpAt; ) block(10)
}
