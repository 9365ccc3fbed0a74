import { policyInput, policySchema } from './policy.js'
import { count, duration } from './words.js'
import { z } from './zod.js'

/** Larger simulations would block the server; the command line and the browser run them with the same code. */
export const SIMULATED_JOBS_MAX = 20_000
export const RETRIES_MAX = 200

export const policiesSchema = z
  .object({
    presets: z.array(
      z
        .object({ name: z.string(), goodFor: z.string(), outageSurvivedMs: count, policy: policySchema })
        .openapi('Preset'),
    ),
    queues: z
      .array(z.object({ queue: z.string(), retry: policySchema.partial() }))
      .openapi({ description: 'Queues with a policy override.' }),
  })
  .openapi('Policies')

const range = z.tuple([z.number(), z.number()])

export const policyPreviewRequest = z
  .strictObject({ policy: policyInput })
  .openapi('PolicyPreviewRequest', { example: { policy: { maxRetries: 5, jitter: 'full' } } })

export const policyPreview = z
  .object({
    policy: policySchema.openapi({ description: 'The complete policy, with defaults filled in.' }),
    rows: z.array(
      z
        .object({
          retry: count,
          label: z.string(),
          delayMs: z
            .number()
            .nullable()
            .openapi({ description: "Without jitter; null: a function in the worker's code decides." }),
          window: range.openapi({ description: 'The shortest and the longest wait, in milliseconds.' }),
          totalMs: range.openapi({ description: 'The sum of all waits up to and including this one.' }),
          typicalMs: z
            .number()
            .nullable()
            .openapi({ description: 'The average start, measured from the first failure.' }),
        })
        .openapi('PreviewRow'),
    ),
    outageSurvivedMs: count
      .nullable()
      .openapi({ description: 'The longest outage after which 99 % of the jobs still have a run left.' }),
    findings: z.array(
      z
        .object({ code: z.string(), severity: z.enum(['note', 'warning']), message: z.string() })
        .openapi('PolicyFinding'),
    ),
  })
  .openapi('PolicyPreview')

export const simulationRequest = z
  .strictObject({
    policy: policyInput,
    scenario: z
      .strictObject({
        jobs: z.number().int().min(1).max(SIMULATED_JOBS_MAX),
        within: duration.optional().openapi({ description: 'The first runs are spread over this time; default 0.' }),
        outage: duration.openapi({ description: 'How long the dependency is down, from the first run on.' }),
        capacityPerSecond: z.number().int().min(1).max(1_000_000).optional(),
        seed: z
          .number()
          .int()
          .min(0)
          .max(2 ** 32 - 1)
          .optional(),
      })
      .openapi('Scenario'),
  })
  .openapi('SimulationRequest', {
    example: { policy: 'standard', scenario: { jobs: 1000, outage: '5m', capacityPerSecond: 50 } },
  })

const herd = z
  .object({
    outageSurvivedMs: count,
    succeeded: count,
    dead: count,
    deadAfterRecovery: count,
    attempts: count,
    turnedAway: count,
    amplification: z.number(),
    peakPerSecond: count,
    doneMs: z.number(),
    waves: z.array(z.object({ retry: count, attempts: count, fromMs: z.number(), toMs: z.number() })),
    series: z.object({
      binMs: z.number(),
      attempts: z.array(count),
      served: z.array(count),
      peaks: z.array(count),
    }),
  })
  .openapi('SimulatedHerd')

export const simulationSchema = z
  .object({
    scenario: z.object({
      jobs: count,
      withinMs: count,
      outageMs: count,
      seed: count,
      capacityPerSecond: count.optional(),
    }),
    withJitter: herd,
    withoutJitter: herd,
  })
  .openapi('Simulation')
