import { randomFillSync } from 'node:crypto'
import type { Clock, Dice } from '../../core/values/clock.js'

// The only file that reads the real time or real random numbers. Everything else gets a Clock and Dice.

const TIMER_MAX_MS = 2 ** 31 - 1
const CLOCK_SET_FORWARD_MS = 1000

/**
 * The wall-clock time at the start plus monotonic time, so that time never runs backwards when the clock is set back.
 */
function steadyNow(): () => number {
  let offsetMs = Date.now() - performance.now()
  return () => {
    const wall = Date.now()
    const elapsed = performance.now()
    if (wall - (offsetMs + elapsed) > CLOCK_SET_FORWARD_MS) offsetMs = wall - elapsed
    return Math.floor(offsetMs + elapsed)
  }
}

export const systemClock: Clock = {
  now: steadyNow(),
  steady: () => Math.floor(performance.now()),
  timer(ms, run) {
    let handle: NodeJS.Timeout
    const arm = (leftMs: number): void => {
      // Node fires a timer with a longer delay at once.
      const sliceMs = Math.min(leftMs, TIMER_MAX_MS)
      handle = setTimeout(() => (leftMs > sliceMs ? arm(leftMs - sliceMs) : run()), sliceMs)
    }
    arm(Math.max(0, ms))
    return { cancel: () => clearTimeout(handle) }
  },
  soon(run) {
    setImmediate(run)
  },
}

/** Milliseconds with fractions, from an arbitrary start: for durations below the resolution of the clock. */
export function stopwatch(): number {
  return performance.now()
}

/** Resolves after `ms` of real time, whatever clock the caller was given. */
export function realPause(ms: number): Promise<void> {
  return new Promise(resolve => systemClock.timer(ms, resolve))
}

/** Resolves after everything that is ready now has run. */
export function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

const POOL_BYTES = 4096
const pool = Buffer.allocUnsafe(POOL_BYTES)
let poolUsed = POOL_BYTES

/** `count` random bytes in hex, from a pool that one system call fills for hundreds of ids. */
function randomHex(count: number): string {
  if (poolUsed + count > POOL_BYTES) {
    randomFillSync(pool)
    poolUsed = 0
  }
  poolUsed += count
  return pool.toString('hex', poolUsed - count, poolUsed)
}

export const systemDice: Dice = {
  random: Math.random,
  token: () => randomHex(16),
  id: uuidSequence(randomHex),
}

/**
 * UUIDv7 whose 12 bits after the time count up within a millisecond, so that ids sort in the order of their creation.
 */
export function uuidSequence(hex: (bytes: number) => string): (now: number) => string {
  let lastMs = 0
  let count = 0
  return now => {
    if (now > lastMs) {
      lastMs = now
      count = Number.parseInt(hex(1), 16)
    } else if (++count > 0xfff) {
      lastMs++
      count = 0
    }
    const time = lastMs.toString(16).padStart(12, '0')
    const tail = hex(8)
    const variant = ((Number.parseInt(tail.charAt(0), 16) & 0x3) | 0x8).toString(16)
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count.toString(16).padStart(3, '0')}-${variant}${tail.slice(1, 4)}-${tail.slice(4)}`
  }
}
