import { PRESETS } from '../../core/policy/presets.js'
import { duration } from './words.js'
import { z } from './zod.js'

const backoff = z
  .union([
    z.strictObject({ type: z.literal('exponential'), base: duration, factor: z.number().optional() }),
    z.strictObject({ type: z.literal('linear'), base: duration, increment: duration.optional() }),
    z.strictObject({ type: z.literal('fixed'), delay: duration }),
    z.strictObject({ type: z.literal('fibonacci'), base: duration }),
    z.strictObject({
      type: z.literal('list'),
      delays: z.array(duration).min(1).max(1000),
      afterEnd: z.enum(['stop', 'repeat-last']).optional(),
    }),
    z.strictObject({ type: z.literal('custom'), name: z.string() }),
  ])
  .openapi('Backoff')

const jitter = z.union([z.enum(['none', 'full', 'equal', 'decorrelated']), z.number().min(0).max(1)])
const status = z.union([z.number().int(), z.string(), z.tuple([z.number().int(), z.number().int()])])

const rule = z
  .strictObject({
    when: z.strictObject({
      name: z.union([z.string(), z.array(z.string())]).optional(),
      code: z.union([z.string(), z.array(z.string())]).optional(),
      status: z.union([z.number().int(), z.string(), z.array(status)]).optional(),
    }),
    as: z.enum(['transient', 'throttled', 'permanent', 'gone', 'blocked', 'endpoint-disabled']),
    delay: duration.optional(),
  })
  .openapi('Rule')

/** Settings of a dependency; the engine checks their names. */
const dependency = z.union([z.boolean(), z.record(z.string(), z.unknown())])

const fields = {
  maxRetries: z.number().int().min(0).max(1000),
  backoff,
  jitter,
  cap: duration,
  maxElapsed: duration,
  rules: z.array(rule).max(100),
  retryAfter: z.boolean(),
  circuit: dependency,
  budget: dependency,
}

export const policySchema = z
  .object({
    ...fields,
    cap: duration.optional(),
    maxElapsed: duration.optional(),
    rules: z.array(rule).optional(),
    retryAfter: z.boolean().optional(),
    circuit: dependency.optional(),
    budget: dependency.optional(),
  })
  .openapi('Policy')

/** The name of a preset, or a policy or a part of one, with aliases of its fields. */
export const policyInput = z
  .union([
    z.enum(Object.keys(PRESETS) as [string, ...string[]]),
    z
      .strictObject({
        ...fields,
        retryDelay: duration,
        useExponentialBackoff: z.boolean(),
        baseRetryDelay: duration,
        maxRetryDelay: duration,
        retryStrategy: z.enum(['exponential', 'linear', 'fixed', 'fibonacci']),
        jitterEnabled: z.boolean(),
        jitterFactor: z.number(),
      })
      .partial(),
  ])
  .openapi('PolicyInput')
