import { createChronos } from '../../src/index.js'
import { check } from './checker.js'
import { Fleet, type FleetOptions, type Place } from './fleet.js'
import { Operator } from './operator.js'
import { Verdict } from './verdict.js'

/** How often each fault of a scenario is caused; a scenario names its own. */
export type Size = Readonly<Record<string, number>>

/** One kind of damage, in a slice for every `npm test` and at full size for `npm run chaos`. */
export interface Scenario {
  readonly name: string
  /** What is done, in one sentence. */
  readonly about: string
  readonly slice: Size
  readonly full: Size
  /** The bound on memory and latency that the documentation states, of a scenario that floods a server. */
  readonly bounds?: string
  /** Why it can't run here, such as a program that is not installed. */
  readonly unavailable?: () => string | undefined
  readonly run: (size: Size, verdict: Verdict) => Promise<void>
  /** How often each event must have happened, or the run proves nothing. */
  readonly coverage: (size: Size) => Readonly<Record<string, number>>
}

/** What a run of a scenario did and found. */
export interface Outcome {
  readonly scenario: string
  readonly about: string
  readonly size: Size
  readonly at: string
  readonly seconds: number
  readonly counts: Readonly<Record<string, number>>
  readonly violations: readonly string[]
  /** Events that happened too rarely. */
  readonly missing: readonly string[]
  readonly notRun?: string
}

/** Runs a scenario and compares what happened with its coverage. */
export async function runScenario(scenario: Scenario, size: Size): Promise<Outcome> {
  const { name, about } = scenario
  const facts = { scenario: name, about, size, at: new Date().toISOString() }
  const notRun = scenario.unavailable?.()
  if (notRun !== undefined) return { ...facts, seconds: 0, counts: {}, violations: [], missing: [], notRun }
  const verdict = new Verdict()
  const startedAt = performance.now()
  try {
    await scenario.run(size, verdict)
  } catch (error) {
    verdict.broken('the scenario runs to its end', String((error as Error).stack))
  }
  const missing = Object.entries(scenario.coverage(size))
    .filter(([what, least]) => (verdict.counts[what] ?? 0) < least)
    .map(([what, least]) => `${what}: ${verdict.counts[what] ?? 0}, expected at least ${least}`)
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  return { ...facts, seconds, counts: verdict.counts, violations: verdict.violations, missing }
}

/**
 * Every feature under load: starts the fleet and the operator, causes the faults, lets everything end, and joins the
 * ledger with the database.
 */
export async function underLoad(
  place: Place,
  options: FleetOptions,
  verdict: Verdict,
  faults: (fleet: Fleet) => Promise<void>,
): Promise<void> {
  await using chronos = createChronos({ store: place.store, log: false, egress: { allow: ['127.0.0.1:*'] } })
  const operator = await Operator.start(chronos, place)
  let fleet: Fleet | undefined
  try {
    fleet = await Fleet.start(place, options)
    await faults(fleet)
    await fleet.calm()
    await operator.drain(verdict)
    verdict.count('openings of circuits', operator.circuitsOpened)
    await fleet.stop(verdict)
    await check(chronos, place.ledger, verdict)
  } finally {
    await fleet?.abandon()
    await operator.close().catch(() => undefined)
  }
}
