import type { Policy } from '../policy/policy.js'
import { outageSurvived, refuseCustom } from '../policy/survival.js'
import { toMs } from '../values/duration.js'
import { ChronosError } from '../values/error.js'
import { about, duration, type Infer, integer, named, number, read } from '../values/schema.js'
import { object, view } from '../values/shape.js'
import { herd, runHerd, type Storm } from './herd.js'
import { series } from './series.js'

export const JOBS_MAX = 100_000
export const CAPACITY_MAX = 1_000_000
export const SEED_MAX = 2 ** 32 - 1
/** The limit for jobs times runs; a larger simulation would take more than seconds. */
export const RUNS_MAX = 5_000_000

/** Jobs that meet an outage, and the capacity of their dependency afterwards. */
export const scenario = named(
  'Scenario',
  object(
    {
      jobs: integer(1, JOBS_MAX),
      outage: about(duration(), 'How long the dependency is down, from the first run on.'),
    },
    {
      within: about(duration(), 'The first runs are spread over this time; default 0.'),
      capacityPerSecond: about(
        integer(1, CAPACITY_MAX),
        'How many attempts per second it serves after the outage; the rest fail. Default: no limit.',
      ),
      seed: about(integer(0, SEED_MAX), 'The same seed draws the same delays. Default 1.'),
    },
  ),
)

export type Scenario = Infer<typeof scenario>

const simulatedHerd = named(
  'SimulatedHerd',
  view({
    outageSurvivedMs: about(integer(), 'The longest outage after which 99 % of the jobs still have a run.'),
    ...herd.required,
    series,
  }),
)
export type SimulatedHerd = Infer<typeof simulatedHerd>

export const simulation = named(
  'Simulation',
  view({
    scenario: about(
      view(
        { jobs: integer(), withinMs: number(), outageMs: number(), seed: integer() },
        { capacityPerSecond: integer() },
      ),
      'The scenario with its defaults filled in.',
    ),
    withJitter: about(simulatedHerd, 'The policy as given.'),
    withoutJitter: about(simulatedHerd, 'The same policy without jitter, and the same seed.'),
  }),
)
export type Simulation = Infer<typeof simulation>

/**
 * Simulates how a policy gets jobs through an outage: pure, with the workers' own retry code, and reproducible with the
 * same seed.
 */
export function simulate(policy: Policy, given: Scenario): Simulation {
  refuseCustom(policy)
  const storm = stormOf(given)
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
  const given = read(scenario, input, 'scenario')
  return {
    jobs: given.jobs,
    withinMs: toMs(given.within ?? 0, 'within'),
    outageMs: toMs(given.outage, 'outage'),
    capacityPerSecond: given.capacityPerSecond ?? Number.POSITIVE_INFINITY,
    seed: given.seed ?? 1,
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
