import { policyInput, policySchema } from './policy.js'
import { count, countSchema, duration, flag, id, listSchema, name, paging, tags, text, time } from './words.js'
import { z } from './zod.js'

const state = z.enum(['waiting', 'running', 'succeeded', 'dead', 'cancelled'])
const phase = z.enum(['scheduled', 'queued', 'retrying', 'running', 'succeeded', 'dead', 'cancelled'])
const delivery = z.enum(['at-least-once', 'at-most-once'])

export const errorSchema = z
  .object({
    name: z.string(),
    message: z.string(),
    code: z.string().optional(),
    status: z.number().int().optional(),
    stack: z.string().optional(),
  })
  .loose()
  .openapi('JobError')

export const jobSchema = z
  .object({
    id,
    name,
    queue: name,
    state,
    phase: phase.openapi({ description: 'The reason for `waiting`; otherwise the state.' }),
    reason: z.string().optional(),
    priority: z.number().int(),
    attempt: count,
    maxAttempts: count,
    maxRetries: count,
    runAt: time,
    createdAt: time,
    startedAt: time.optional(),
    finishedAt: time.optional(),
    tenantId: z.string().optional(),
    key: z.string().optional(),
    tags,
    delivery,
    payload: z.unknown(),
    result: z.unknown().optional(),
    error: errorSchema.optional(),
    progress: z.unknown().optional(),
    scheduleId: z.string().optional(),
    generation: count,
    retry: policySchema,
  })
  .loose()
  .openapi('Job')

export const attemptSchema = z
  .object({
    generation: count,
    run: count,
    attempt: count,
    retry: count,
    label: z.string(),
    status: z.string(),
    startedAt: time,
    finishedAt: time,
    durationMs: count,
    error: errorSchema.optional(),
    note: z.string().optional(),
    workerId: z.string(),
    delayMs: z.number().optional(),
    nextRunAt: time.optional(),
    fingerprint: z.string().optional(),
    decision: z.unknown().optional(),
  })
  .loose()
  .openapi('Attempt')

export const jobWithAttempts = jobSchema.extend({ attempts: z.array(attemptSchema) }).openapi('JobWithAttempts')

export const jobList = z
  .object({
    data: z.array(jobSchema),
    page: z.object({ next: z.string().optional() }),
    count: countSchema,
    searched: z
      .object({ newest: count, complete: z.boolean() })
      .optional()
      .openapi({ description: 'How far back a search by `q` or `error` went.' }),
  })
  .openapi('JobList')

export const attemptList = listSchema(attemptSchema, 'AttemptList')

export const logList = listSchema(
  z.object({ at: time, run: count, message: z.string(), data: z.unknown().optional() }).openapi('LogLine'),
  'LogList',
)

/** Selects jobs; the fields have the same names as in TypeScript. */
const filters = {
  state: z.union([state, z.array(state)]).optional(),
  phase: phase.optional(),
  queue: name.optional(),
  name: name.optional(),
  tag: z.string().min(1).max(64).optional(),
  key: text.optional(),
  tenantId: text.optional(),
  error: text.optional().openapi({ description: 'Part of the last error: its name, code or message.' }),
  fingerprint: text.optional(),
  reason: text.optional(),
  dependency: text.optional(),
  redriveId: text.optional(),
  scheduleId: text.optional(),
  createdAfter: time.optional(),
  createdBefore: time.optional(),
  q: text.optional().openapi({ description: 'Text in any field, among the newest 100,000 jobs.' }),
}

export const jobQuery = z.strictObject({
  ...filters,
  acknowledged: flag.optional(),
  ids: z
    .string()
    .max(8000)
    .transform(all => all.split(','))
    .optional()
    .openapi({ type: 'string', description: 'Ids, separated by commas.' }),
  ...paging,
})

export const jobFilterBody = z
  .strictObject({ ...filters, acknowledged: z.boolean().optional(), ids: z.array(id).max(10_000).optional() })
  .openapi('JobFilter')

export const httpRequest = z
  .strictObject({
    method: z.string().max(10).optional(),
    url: z.string().min(1).max(8192),
    headers: z.record(z.string(), z.string()).optional(),
    body: z.unknown().optional(),
    timeout: duration.optional(),
    expectedStatuses: z.array(z.union([z.number(), z.string(), z.tuple([z.number(), z.number()])])).optional(),
    followRedirects: z.number().int().min(0).max(3).optional(),
    retryClientErrors: z.boolean().optional(),
    captureBody: z.boolean().optional(),
  })
  .openapi('HttpRequest')

const enqueueFields = {
  queue: name.optional(),
  priority: z.number().int().min(0).max(9).optional(),
  delay: duration.optional(),
  runAt: time.optional(),
  deadline: z.union([time, duration]).optional(),
  key: text.optional(),
  unique: text.optional(),
  tenantId: text.optional(),
  delivery: delivery.optional(),
  retry: policyInput.optional(),
  timeout: duration.optional(),
  maxElapsed: duration.optional(),
  dependsOn: text.optional(),
  fingerprint: text.optional(),
  webhook: z.string().max(8192).optional(),
  tags: tags.optional(),
}

export const newJob = z
  .strictObject({ name, payload: z.unknown().optional(), ...enqueueFields })
  .openapi('NewJob', { example: { name: 'charge-card', payload: { orderId: 'A-17' }, queue: 'payments' } })

export const newHttpJob = z
  .strictObject({ http: httpRequest, ...enqueueFields })
  .openapi('NewHttpJob', { example: { http: { method: 'POST', url: 'https://api.example/charge' } } })

/** The short form for scheduled HTTP jobs. */
export const scheduleForm = z
  .strictObject({
    schedule: z.string().min(1).max(256),
    api: z.string().min(1).max(8192),
    type: z.enum(['AT_LEAST_ONCE', 'AT_MOST_ONCE']).optional(),
    isRecurring: z.boolean().optional(),
    maxRetryCount: z.number().int().min(0).max(1000).optional(),
  })
  .openapi('ScheduleForm', {
    example: { schedule: '*/10 * * * * *', api: 'https://api.example/ping', isRecurring: true },
  })

export const jobEdit = z
  .strictObject({
    payload: z.unknown(),
    priority: z.number().int().min(0).max(9),
    tags,
    timeout: z.union([duration, z.null()]),
    deadline: z.union([time, duration, z.null()]),
    retry: z.union([policyInput, z.null()]),
    runAt: time,
    delay: duration,
    queue: name,
  })
  .partial()
  .openapi('JobEdit')

export const enqueuedSchema = jobSchema.extend({ status: z.enum(['created', 'existing']) }).openapi('EnqueuedJob')
