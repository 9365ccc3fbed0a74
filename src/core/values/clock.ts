/** Time and randomness are injected. Only `engine/time/system.ts` reads the real ones. */
export interface Clock {
  /** Epoch milliseconds; never goes back within one process. */
  now(): number
  /** Milliseconds from an arbitrary start that no change of the system's clock affects; if absent, as `now`. */
  steady?(): number
  /** Runs once after `ms`; any length is safe. */
  timer(ms: number, run: () => void): Timer
  /**
   * A timer of a loop, on a virtual clock. Timers of loops that fall due at the same moment fire together. `run` returns
   * false if there was nothing to do, so that the clock need not wait for anything.
   */
  tick?(ms: number, run: () => boolean): Timer
  /** Runs once after everything that is ready now. */
  soon(run: () => void): void
  /** Only on a virtual clock, which must not advance while real work is in progress. */
  readonly outstanding?: Outstanding
}

export interface Timer {
  cancel(): void
}

/** Reports work in progress to a virtual clock. */
export interface Outstanding {
  /** Stops time until this call (to a store, a socket or a thread) returns. */
  call<T>(work: () => Promise<T>): Promise<T>
  /** Stops time until this handler ends, except while it waits on this clock. */
  handler(): RunningHandler
  /** Waits for something that needs time to pass. */
  until<T>(promise: Promise<T>): Promise<T>
  /** Waits in real time for another process, which has no virtual time. */
  pause(ms: number): Promise<void>
}

export interface RunningHandler {
  /** Runs the code of the handler; its waits on this clock belong to it. */
  run<T>(work: () => T): T
  /** The handler has ended, or its worker has abandoned it. */
  end(): void
}

/** The next turn of a loop. `run` returns false if there was nothing to do. */
export function tick(clock: Clock, ms: number, run: () => boolean): Timer {
  return clock.tick ? clock.tick(ms, run) : clock.timer(ms, run)
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
