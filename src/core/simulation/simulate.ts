import { burstNeedsRate, partitionBounds, queueBounds, startFields } from '../partition/limits.js'
import { mergePolicies, type Policy, type PolicyInput, parsePolicy } from '../policy/policy.js'
import { refuseCustom } from '../policy/survival.js'
import { toMs } from '../values/duration.js'
import { ChronosError } from '../values/error.js'
import { present } from '../values/present.js'
import { about, duration, type Infer, integer, named, number, read, refined } from '../values/schema.js'
import { object, view } from '../values/shape.js'
import { herd, type Storm } from './herd.js'
import { series } from './series.js'
import { simulateStorm } from './storm.js'
import type { StormLimits } from './waiting-line.js'

export const JOBS_MAX = 100_000
export const CAPACITY_MAX = 1_000_000
export const SEED_MAX = 2 ** 32 - 1
/** The limit for jobs times runs; a larger simulation would take more than seconds. */
export const RUNS_MAX = 5_000_000

const limit = refined(object({}, startFields), burstNeedsRate)
const partitions = refined(object({ count: integer(1, JOBS_MAX) }, startFields), burstNeedsRate)
const LIMIT_WORDS = {
  limit: 'Limits of the queue.',
  partitions: 'The jobs are spread evenly over `count` partitions, each with these limits.',
}

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
      limit: about(limit, LIMIT_WORDS.limit),
      partitions: about(partitions, LIMIT_WORDS.partitions),
      takes: about(duration(), 'How long each attempt takes, which matters to `concurrency`. Default 0.'),
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
        {
          capacityPerSecond: integer(),
          takesMs: number(),
          limit: about(limit, LIMIT_WORDS.limit),
          partitions: about(partitions, LIMIT_WORDS.partitions),
        },
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
  return simulateStorm(policy, stormOf(policy, given))
}

/** The same for whatever an enqueue accepts as `retry`; the standard policy supplies missing settings. */
export function simulateInput(retry: PolicyInput, given: Scenario): Simulation {
  return simulate(mergePolicies(parsePolicy(retry, 'policy')), given)
}

/** A scenario with its defaults filled in, if it is valid and not too large for this policy. */
export function stormOf(policy: Policy, given: Scenario): Storm {
  refuseCustom(policy)
  const asked = read(scenario, given, 'scenario')
  const { jobs, within = 0, outage, capacityPerSecond = Number.POSITIVE_INFINITY, seed = 1 } = asked
  const times = { withinMs: toMs(within, 'within'), outageMs: toMs(outage, 'outage') }
  const storm = present({ jobs, ...times, capacityPerSecond, seed, limits: limitsOf(asked) })
  refuseTooMuch(policy, storm)
  return storm
}

function limitsOf({ limit, partitions, takes = 0 }: Scenario): StormLimits | undefined {
  const takesMs = toMs(takes, 'takes')
  if (!limit && !partitions && takesMs === 0) return undefined
  const { count = 1, ...each } = partitions ?? {}
  return present({
    takesMs,
    queue: queueBounds(present({ limit })),
    partition: partitionBounds({ partitions: each }, ''),
    partitions: count,
    given: present({ limit, partitions, takesMs: takesMs === 0 ? undefined : takesMs }),
  })
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
