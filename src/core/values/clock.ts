/** Time and chance, given to everything that needs them. `engine/time/system.ts` is the only file that reads the real ones. */
export interface Clock {
  /** Epoch milliseconds; never goes back within one process. */
  now(): number
  /** Runs once after `ms`; any length is safe. */
  timer(ms: number, run: () => void): Timer
  /** Runs once after everything that is ready now. */
  soon(run: () => void): void
  /** Only on a virtual clock, which must not move while real work is under way. */
  readonly outstanding?: Outstanding
}

export interface Timer {
  cancel(): void
}

/** How a virtual clock learns what is under way. */
export interface Outstanding {
  /** Time stands still until this call (to a store, a socket, a thread) has its answer. */
  call<T>(work: () => Promise<T>): Promise<T>
  /** Time stands still from now until this handler ends, except while it waits for time itself. */
  handler(): RunningHandler
  /** Waits for something that only comes when time passes. */
  until<T>(promise: Promise<T>): Promise<T>
  /** Waits in real time for another process, which knows nothing of virtual time. */
  pause(ms: number): Promise<void>
}

export interface RunningHandler {
  /** Runs the handler's code; waits of this clock that it comes to are its own. */
  run<T>(work: () => T): T
  /** It has ended, or its worker has given it up. */
  end(): void
}

/** Resolves after `ms` on this clock; rejects as soon as the signal aborts. */
export function wait(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  const over = new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = clock.timer(ms, () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    })
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
  return clock.outstanding ? clock.outstanding.until(over) : over
}

/** Resolves after `ms` of real time: for locks that another process holds. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return clock.outstanding ? clock.outstanding.pause(ms) : new Promise(resolve => clock.timer(ms, resolve))
}

/** Work that a virtual clock must wait for. */
export function during<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  return clock.outstanding ? clock.outstanding.call(work) : work()
}

export interface Dice {
  /** 0 ≤ u < 1 */
  random(): number
  /** 128 random bits in hex. */
  token(): string
  /** A UUIDv7 for this moment; later calls in one process sort after earlier ones. */
  id(now: number): string
}
