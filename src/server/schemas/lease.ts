import { errorSchema, jobSchema } from './job.js'
import { count, duration, id, name, time } from './words.js'
import { z } from './zod.js'

export const token = z
  .string()
  .regex(/^[0-9a-f]{32}$/, '32 lower-case hexadecimal digits')
  .openapi({ description: 'Proof of the lease, from the claim.', example: '9f86d081884c7d659a2feaa0c55ad015' })

const names = z.array(name).min(1).max(100)

export const claimBody = z
  .strictObject({
    workerId: z.string().min(1).max(128).openapi({ description: 'Unique per process.' }),
    queues: names.optional().openapi({ description: 'Default: `default`.' }),
    names: names
      .optional()
      .openapi({ description: 'Claim only jobs with these names. Default: all except HTTP jobs.' }),
    limit: z.number().int().min(1).max(100).optional().openapi({ description: 'Default 1.' }),
    lease: duration.optional().openapi({ description: '1s to 1h; default 30s.' }),
    wait: duration.optional().openapi({ description: 'How long to wait if no job is due: up to 30s.' }),
    token: token.optional().openapi({
      description: 'New for every claim; the same value repeats a claim whose response was lost.',
    }),
    host: z.string().min(1).max(128).optional(),
    pid: z.number().int().min(0).max(2_147_483_647).optional(),
  })
  .openapi('Claim', { example: { workerId: 'ml-7:4711', queues: ['images'], limit: 5, lease: '30s', wait: '20s' } })

export const leaseSchema = z
  .object({
    job: jobSchema,
    key: z.string().openapi({ description: 'The same for all attempts; use it as an idempotency key for calls.' }),
    token,
    leaseMs: count,
    expiresAt: time,
    timeoutMs: count,
    isLastAttempt: z.boolean(),
    deadline: time.optional(),
    suspect: z.boolean().optional().openapi({ description: 'The job may have crashed its last worker.' }),
    trace: z.record(z.string(), z.string()).optional(),
  })
  .openapi('Lease')

export const extendBody = z
  .strictObject({
    token,
    lease: duration.optional(),
    progress: z.unknown().optional(),
    log: z
      .array(z.strictObject({ message: z.string(), data: z.unknown().optional() }))
      .max(100)
      .optional(),
  })
  .openapi('LeaseExtension')

export const extendedSchema = z.object({ expiresAt: time, cancelRequested: z.boolean() }).openapi('ExtendedLease')

/** Stored with the run. */
export const note = z.string().max(1000)

export const failBody = z
  .strictObject({
    token,
    error: z.strictObject({
      ...errorSchema.partial().required({ message: true }).shape,
      status: z.number().int().min(100).max(599).optional(),
      retryable: z
        .boolean()
        .optional()
        .openapi({ description: 'Overrides every rule: false ends the job, true allows its retries.' }),
    }),
    retryAfter: duration.optional(),
    note: note.optional(),
  })
  .openapi('LeaseFailure')

export const leaseEndSchema = z
  .object({
    id,
    state: z.enum(['waiting', 'succeeded', 'dead', 'cancelled', 'running']),
    status: z.string(),
    attempt: count,
    maxAttempts: count,
    reason: z.string().optional(),
    nextRunAt: time.optional(),
    delayMs: count.optional(),
    decision: z.unknown().optional(),
    repeated: z
      .boolean()
      .optional()
      .openapi({ description: 'The outcome was already reported; nothing was done twice.' }),
  })
  .openapi('LeaseEnd')
