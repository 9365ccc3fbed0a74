import { attemptSchema, httpRequest } from './job.js'
import { policyInput, policySchema } from './policy.js'
import { count, duration, id, listSchema, name, paging, tags, text, time } from './words.js'
import { z } from './zod.js'

const CRON_MAX = 256
const CATCH_UP_MAX = 100

const overlap = z
  .enum(['skip', 'queue', 'allow'])
  .openapi({ description: 'What happens to an occurrence while an earlier one has not ended.' })
const missed = z
  .union([z.enum(['run-once', 'skip']), z.strictObject({ all: z.number().int().min(1).max(CATCH_UP_MAX) })])
  .openapi({ description: 'What happens to occurrences that were missed because no scheduler was running.' })
const state = z.enum(['active', 'paused', 'ended'])
const delivery = z.enum(['at-least-once', 'at-most-once'])

export const scheduleSchema = z
  .object({
    id,
    version: count,
    state,
    cron: z.string().optional(),
    every: duration.optional(),
    timeZone: z.string(),
    startAt: time.optional(),
    endAt: time.optional(),
    splay: duration.optional(),
    overlap,
    missed,
    recurring: z.boolean(),
    job: name,
    payload: z.unknown(),
    queue: name,
    priority: z.number().int(),
    delivery,
    tags: z.array(z.string()),
    tenantId: z.string().optional(),
    timeout: duration.optional(),
    retry: policySchema.partial().optional(),
    webhook: z.string().optional(),
    dependsOn: z.string().optional(),
    fingerprint: z.string().optional(),
    nextOccurrenceAt: time.optional(),
    lastOccurrenceAt: time.optional(),
    lastJobId: z.string().optional(),
    fired: count,
    skipped: count,
    missedCount: count,
    createdAt: time,
    updatedAt: time,
    endedAt: time.optional(),
  })
  .loose()
  .openapi('Schedule')

export const scheduleList = listSchema(scheduleSchema, 'ScheduleList')

export const scheduleQuery = z.strictObject({ tenantId: text.optional(), ...paging })

const timing = {
  cron: z
    .string()
    .min(1)
    .max(CRON_MAX)
    .optional()
    .openapi({ description: 'Five fields, or six with seconds first.', example: '0 9 * * MON' }),
  every: duration.optional().openapi({ description: 'Instead of `cron`: at least 1s.' }),
  timeZone: z.string().min(1).max(64).optional().openapi({ example: 'Europe/Paris' }),
  startAt: time.optional(),
  endAt: time.optional(),
  splay: duration.optional().openapi({ description: 'The maximum random delay of a job after its occurrence.' }),
}

const scheduleFields = {
  ...timing,
  job: name.optional().openapi({ description: 'The name of its jobs.' }),
  payload: z.unknown().optional(),
  http: httpRequest.optional().openapi({ description: 'Instead of `job`: a call to a URL.' }),
  queue: name.optional(),
  priority: z.number().int().min(0).max(9).optional(),
  retry: policyInput.optional(),
  timeout: duration.optional(),
  delivery: delivery.optional(),
  tenantId: text.optional(),
  tags: tags.optional(),
  maxElapsed: duration.optional(),
  dependsOn: text.optional(),
  fingerprint: text.optional(),
  webhook: z.string().max(8192).optional(),
  overlap: overlap.optional(),
  missed: missed.optional(),
  recurring: z.boolean().optional().openapi({ description: 'false: the schedule ends after one occurrence.' }),
}

export const scheduleInput = z.strictObject(scheduleFields).openapi('ScheduleInput', {
  example: { cron: '0 9 * * MON', timeZone: 'Europe/Paris', job: 'weekly-digest', payload: { list: 'all' } },
})

export const newSchedule = z
  .strictObject({ id: name.optional().openapi({ description: 'Default: a new id.' }), ...scheduleFields })
  .openapi('NewSchedule')

export const previewRequest = z
  .strictObject({
    ...timing,
    count: z.number().int().min(1).max(1000).optional().openapi({ description: 'How many; default 10.' }),
    from: time.optional().openapi({ description: 'Default: now.' }),
  })
  .openapi('SchedulePreviewRequest', { example: { cron: '30 2 * * *', timeZone: 'Europe/Paris', count: 5 } })

export const schedulePreview = z
  .object({
    data: z.array(
      z.object({
        at: time,
        local: z.string().openapi({
          description: 'Local time in the time zone of the schedule.',
          example: '2026-03-29T03:30:00+02:00',
        }),
        clocks: z.string().optional().openapi({ description: 'How the clocks changed since the previous occurrence.' }),
      }),
    ),
    timeZone: z.string(),
  })
  .openapi('SchedulePreview')

export const occurrenceList = listSchema(
  attemptSchema.extend({ jobId: id }).openapi('OccurrenceAttempt'),
  'OccurrenceList',
)
