import { realPause } from '../time/system.js'
import { linesWritten } from './log.js'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** How long an exit waits for a reader of the log that is slow or gone. */
const LINES_MS = 1_000

const stops = new Set<() => Promise<void>>()
let heard = false

/**
 * The first SIGTERM or SIGINT stops everything registered and exits with 0; a second one exits at once. An application
 * with its own listeners decides itself when to exit.
 */
export function stopOnSignals(stop: () => Promise<void>): () => void {
  stops.add(stop)
  if (stops.size === 1) for (const signal of SIGNALS) process.on(signal, onSignal)
  return () => {
    stops.delete(stop)
    if (stops.size === 0 && !heard) for (const signal of SIGNALS) process.off(signal, onSignal)
  }
}

function onSignal(signal: NodeJS.Signals): void {
  if (heard) process.exit(1)
  heard = true
  const alone = process.listenerCount(signal) === 1
  void Promise.allSettled([...stops].map(stop => stop())).then(async () => {
    if (!alone) return
    await Promise.race([linesWritten(), realPause(LINES_MS)])
    process.exit(0)
  })
}
