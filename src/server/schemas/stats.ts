import { activitySchema } from './queue.js'
import { count, countSchema, duration, name, time } from './words.js'
import { z } from './zod.js'

export const statsSchema = z
  .object({
    at: time,
    jobs: z
      .object({
        scheduled: countSchema,
        queued: countSchema,
        retrying: countSchema,
        running: countSchema,
        succeeded: countSchema,
        dead: countSchema,
        cancelled: countSchema,
      })
      .openapi({ description: 'Jobs by phase, up to 10,000 of each.' }),
    since: time.openapi({ description: 'The start of the period of the next five fields.' }),
    totalRetries: count,
    successfulRetries: count,
    retrySuccessRate: z.number().openapi({ description: '100 × successfulRetries ÷ totalRetries.' }),
    failedRuns: count,
    failedJobs: count,
    retryRate: z.number().openapi({ description: 'Ratio of retries to first attempts over the last five minutes.' }),
    deadLetters: countSchema.openapi({ description: 'Dead letters that are neither acknowledged nor discarded.' }),
    oldestDueAgeMs: count.optional(),
    workers: z.object({ alive: count, silent: count, concurrency: count, running: count }),
    last5m: activitySchema,
    lastHour: activitySchema,
  })
  .openapi('Stats')

export const seriesQuery = z.strictObject({
  from: time.optional().openapi({ description: 'Default: an hour before `to`.' }),
  to: time.optional().openapi({ description: 'Default: now.' }),
  step: duration
    .optional()
    .openapi({ description: 'Whole minutes. Minutes are kept for two days, hours for 90.', example: '5m' }),
  queue: name.optional(),
  name: name.optional(),
})

export const seriesSchema = z
  .object({
    step: duration,
    from: time,
    to: time,
    points: z.array(
      z
        .object({
          at: time,
          enqueued: count,
          firstTry: count.openapi({ description: 'Jobs that succeeded at the first attempt.' }),
          retried: count.openapi({ description: 'Jobs that succeeded after retries.' }),
          failed: count.openapi({ description: 'Runs that failed, timed out or were lost.' }),
          dead: count,
          cancelled: count,
          runs: count,
          retries: count,
          busyMs: z.number().openapi({ description: 'The total duration of the runs.' }),
        })
        .openapi('SeriesPoint'),
    ),
    complete: z.boolean(),
  })
  .openapi('Series')
