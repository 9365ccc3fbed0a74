import type { Coverage } from './coverage.js'
import { checkEnd } from './promises/end.js'
import type { Trace } from './trace.js'
import type { Violation } from './verdict.js'
import type { Plan } from './world/plan.js'
import { World } from './world/world.js'

export interface Life {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly coverage: Coverage
  readonly trace: Trace
  readonly plan: Plan
  readonly events: number
  readonly virtualMs: number
}

// Thousands of errors are made on purpose, and their stacks would take longer than anything else.
Error.stackTraceLimit = 4

/** Simulates one seed: the same seed gives the same events in the same order. */
export async function simulate(seed: number): Promise<Life> {
  const world = new World(seed)
  const startAt = world.timeline.now()
  const stray = (error: unknown): void => {
    world.verdict.broken('the engine does not throw', error instanceof Error ? String(error.stack) : String(error))
  }
  process.on('unhandledRejection', stray)
  try {
    await world.live()
    if (!world.verdict.isBroken) await checkEnd(world)
  } catch (error) {
    stray(error)
  } finally {
    await world.end()
    process.off('unhandledRejection', stray)
  }
  const { coverage, trace, plan, timeline } = world
  const { violations } = world.verdict
  return { seed, violations, coverage, trace, plan, events: timeline.events, virtualMs: timeline.now() - startAt }
}

const LINES = 50

/** The report of a broken seed for people. */
export function story({ seed, violations, trace, plan }: Life): string {
  return [
    `Seed ${seed} (${plan.mood}, ${plan.store} store) broke ${violations.length === 1 ? 'a promise' : `${violations.length} promises`}:`,
    ...violations.slice(0, 5).map(({ promise, what }) => `  ✗ ${promise}\n    ${what}`),
    '',
    `The last ${LINES} of ${trace.length} lines of its trace:`,
    ...trace.last(LINES).map(line => `  ${line}`),
    '',
    `Replay it with: npm run simulate -- --seed ${seed}`,
  ].join('\n')
}
