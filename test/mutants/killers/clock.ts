import type { Clock, Timer } from '../../../src/core/values/clock.js'
import type { Log } from '../../../src/engine/client/log.js'

/** A clock that a check sets. Its timers never run. */
export class HandClock implements Clock {
  #now = Date.UTC(2026, 0, 1)

  now(): number {
    return this.#now
  }

  timer(): Timer {
    return { cancel: () => {} }
  }

  soon(run: () => void): void {
    setImmediate(run)
  }

  advance(ms: number): void {
    this.#now += ms
  }
}

const ignore = (): void => {}
export const quiet = {
  ...{ debug: ignore, info: ignore, warn: ignore, error: ignore, isLevelEnabled: () => false },
} as unknown as Log
