import { policyInput, policySchema } from './policy.js'
import { count, duration } from './words.js'
import { z } from './zod.js'

/** A server does other things too: what is larger is for the command line or the browser, on the same code. */
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
      .openapi({ description: 'Queues that were given a policy of their own.' }),
  })
  .openapi('Policies')

const range = z.tuple([z.number(), z.number()])

export const policyPreviewRequest = z
  .strictObject({ policy: policyInput })
  .openapi('PolicyPreviewRequest', { example: { policy: { maxRetries: 5, jitter: 'full' } } })

export const policyPreview = z
  .object({
    policy: policySchema.openapi({ description: 'As it would hold: what is not said is filled in.' }),
    rows: z.array(
      z
        .object({
          retry: count,
          label: z.string(),
          delayMs: z.number().nullable().openapi({ description: "Without jitter; null: a worker's function decides." }),
          window: range.openapi({ description: 'The wait in milliseconds, at the least and at the most.' }),
          totalMs: range.openapi({ description: 'All waits up to and with this one.' }),
          typicalMs: z
            .number()
            .nullable()
            .openapi({ description: 'When it starts on average, from the first failure.' }),
        })
        .openapi('PreviewRow'),
    ),
    outageSurvivedMs: count
      .nullable()
      .openapi({ description: 'The longest that leaves 99 % of the jobs a run after it.' }),
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
        within: duration.optional().openapi({ description: 'Their first runs are spread over so long; default 0.' }),
        outage: duration.openapi({ description: 'How long the target is away, from the first run on.' }),
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
