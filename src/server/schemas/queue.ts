import { policyInput, policySchema } from './policy.js'
import { count, countSchema, duration, listSchema, time } from './words.js'
import { z } from './zod.js'

const BUCKETS_MAX = 200

export const activitySchema = z
  .object({
    enqueued: count,
    started: count.openapi({ description: 'Runs that ended.' }),
    retries: count.openapi({ description: 'Runs that ended with attempt > 1.' }),
    succeeded: count.openapi({ description: 'Jobs that succeeded.' }),
    failed: count.openapi({ description: 'Runs that failed, timed out or were lost.' }),
    dead: count,
    cancelled: count,
  })
  .openapi('Activity')

export const queueSchema = z
  .object({
    name: z.string(),
    paused: z.boolean(),
    retry: policySchema
      .partial()
      .optional()
      .openapi({ description: 'The override that was set; it takes precedence over the code.' }),
    counts: z
      .object({
        scheduled: countSchema,
        queued: countSchema,
        retrying: countSchema,
        running: countSchema,
        dead: countSchema,
      })
      .openapi({ description: 'Up to 10,000 of each.' }),
    oldestDueAt: time.optional().openapi({ description: 'When the oldest due job became due.' }),
    deadSince: time.optional().openapi({ description: 'When the oldest unacknowledged dead letter died.' }),
    workers: count.openapi({ description: 'Live workers that take its jobs.' }),
    concurrency: count,
    hasWorkers: z.boolean(),
    running: count,
    lastHour: activitySchema,
    spark: z
      .object({ succeeded: z.array(count), failed: z.array(count) })
      .openapi({ description: 'Jobs and runs in each of the last fifteen minutes, oldest first.' }),
  })
  .openapi('Queue')

export const queueList = listSchema(queueSchema, 'QueueList')

export const queueSettings = z
  .strictObject({
    paused: z.boolean().optional(),
    retry: z.union([policyInput, z.null()]).optional().openapi({ description: 'null removes the override.' }),
  })
  .openapi('QueueSettings', { example: { retry: { maxRetries: 5, jitter: 'full' } } })

export const waveQuery = z.strictObject({
  window: duration.optional().openapi({ description: 'How far to look ahead, from 1m to 7d; default 15m.' }),
  buckets: z.coerce
    .number()
    .int()
    .min(1)
    .max(BUCKETS_MAX)
    .optional()
    .openapi({ description: `1 to ${BUCKETS_MAX}; default 60.` }),
})

export const waveSchema = z
  .object({
    queue: z.string().optional(),
    from: time,
    to: time,
    bucketMs: z.number(),
    buckets: z.array(count).openapi({ description: 'Jobs that wait for a retry, by due time.' }),
    scheduled: z.array(count).openapi({ description: 'Jobs that wait for their first run, by due time.' }),
    due: count.openapi({ description: 'Retries that are already due.' }),
    beyond: count.openapi({ description: 'Jobs that are due after `to`.' }),
    complete: z.boolean().openapi({ description: 'false: there are too many jobs, and not all were counted.' }),
  })
  .openapi('RetryWave')
