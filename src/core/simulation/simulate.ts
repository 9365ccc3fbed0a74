import type { Policy } from '../policy/policy.js'
import { outageSurvived, refuseCustom } from '../policy/survival.js'
import { type Duration, toMs } from '../values/duration.js'
import { ChronosError } from '../values/error.js'
import { checkInteger } from '../values/limits.js'
import { readForm } from '../values/options-reader.js'
import { type Herd, runHerd, type Storm } from './herd.js'
import type { Series } from './series.js'

export const JOBS_MAX = 100_000
export const CAPACITY_MAX = 1_000_000
export const SEED_MAX = 2 ** 32 - 1
/** The limit for jobs times runs; a larger simulation would take more than seconds. */
export const RUNS_MAX = 5_000_000

/** Jobs that meet an outage, and the capacity of their dependency afterwards. */
export interface Scenario {
  readonly jobs: number
  /** Their first runs are spread evenly over this time. Default 0: all at once. */
  readonly within?: Duration
  /** How long the dependency is down, from the first run on. */
  readonly outage: Duration
  /** How many attempts per second it serves after the outage; the rest fail. Default: no limit. */
  readonly capacityPerSecond?: number
  /** The same seed draws the same delays. Default 1. */
  readonly seed?: number
}

export interface SimulatedHerd extends Herd {
  /**
   * The longest outage after which 99 % of the jobs still have a run. It depends on the policy, not on the scenario.
   */
  readonly outageSurvivedMs: number
  readonly series: Series
}

export interface Simulation {
  /** The scenario with its defaults filled in. */
  readonly scenario: Omit<Storm, 'capacityPerSecond'> & Pick<Scenario, 'capacityPerSecond'>
  /** The policy as given. */
  readonly withJitter: SimulatedHerd
  /** The same policy with jitter 'none' and the same seed. */
  readonly withoutJitter: SimulatedHerd
}

const KEYS = ['jobs', 'within', 'outage', 'capacityPerSecond', 'seed'] as const

/**
 * Simulates how a policy gets jobs through an outage: pure, with the workers' own retry code, and reproducible with the
 * same seed.
 */
export function simulate(policy: Policy, scenario: Scenario): Simulation {
  refuseCustom(policy)
  const storm = stormOf(scenario)
  refuseTooMuch(policy, storm)
  const { jobs, withinMs, outageMs, capacityPerSecond, seed } = storm
  const plain: Policy = { ...policy, jitter: 'none' }
  const [jittered, together] = [runHerd(policy, storm), runHerd(plain, storm)]
  const binMs = Math.max(jittered.recorder.binMs, together.recorder.binMs)
  return {
    scenario: { jobs, withinMs, outageMs, seed, ...(Number.isFinite(capacityPerSecond) && { capacityPerSecond }) },
    withJitter: {
      outageSurvivedMs: outageSurvived(policy),
      ...jittered.herd,
      series: jittered.recorder.series(binMs),
    },
    withoutJitter: {
      outageSurvivedMs: outageSurvived(plain),
      ...together.herd,
      series: together.recorder.series(binMs),
    },
  }
}

function stormOf(input: unknown): Storm {
  const form = readForm(input, 'scenario', KEYS, 'INVALID_OPTION')
  const integer = (key: string, min: number, max: number, otherwise?: number): number => {
    const value = form.get(key) ?? otherwise
    checkInteger(value, `scenario.${key}`, min, max)
    return value
  }
  const unlimited = !form.has('capacityPerSecond')
  return {
    jobs: integer('jobs', 1, JOBS_MAX),
    withinMs: toMs(form.get('within') ?? 0, 'scenario.within'),
    outageMs: toMs(form.get('outage'), 'scenario.outage'),
    capacityPerSecond: unlimited ? Number.POSITIVE_INFINITY : integer('capacityPerSecond', 1, CAPACITY_MAX),
    seed: integer('seed', 0, SEED_MAX, 1),
  }
}

function refuseTooMuch({ maxRetries }: Policy, { jobs }: Storm): void {
  const runs = maxRetries + 1
  if (jobs * runs <= RUNS_MAX) return
  throw new ChronosError(
    'INVALID_OPTION',
    `scenario.jobs: ${jobs} jobs of up to ${runs} runs each are more than ${RUNS_MAX} runs; ` +
      `simulate at most ${Math.floor(RUNS_MAX / runs)} jobs of this policy`,
  )
}
