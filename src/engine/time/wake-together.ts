import { type Clock, type Timer, tick } from '../../core/values/clock.js'

/** Shorter waits are not prolonged. */
const LONG_MS = 5_000
/** Long waits end at a multiple of this. */
const GRID_MS = 250

interface Wake {
  readonly loops: Set<Waiting>
  readonly timer: Timer
}

interface Waiting {
  readonly run: () => boolean
}

/** The next wake-ups of the loops on a clock, by their time. */
const wakes = new WeakMap<Clock, Map<number, Wake>>()

/**
 * The next turn of a loop, as `tick`. Loops of one process that wait long wake at the same moment, up to a quarter of a
 * second late, so that their questions to the store can share a transaction. On a virtual clock, that is up to `tick`.
 */
export function wakeTogether(clock: Clock, ms: number, run: () => boolean): Timer {
  if (ms < LONG_MS || clock.tick) return tick(clock, ms, run)
  const now = clock.steady?.() ?? clock.now()
  const at = Math.ceil((now + ms) / GRID_MS) * GRID_MS
  const all = wakes.get(clock) ?? new Map<number, Wake>()
  wakes.set(clock, all)
  const wake = all.get(at) ?? { loops: new Set(), timer: clock.timer(at - now, () => wakeAll(all, at)) }
  all.set(at, wake)
  const waiting = { run }
  wake.loops.add(waiting)
  return {
    cancel() {
      if (!wake.loops.delete(waiting) || wake.loops.size > 0) return
      wake.timer.cancel()
      all.delete(at)
    },
  }
}

function wakeAll(all: Map<number, Wake>, at: number): void {
  const { loops } = all.get(at)!
  all.delete(at)
  // One of them may stop another.
  for (const waiting of [...loops]) if (loops.delete(waiting)) waiting.run()
}
