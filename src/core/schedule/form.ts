import { type HttpRequest, httpRequest, url } from '../http/request.js'
import type { Delivery } from '../job/job.js'
import { type JobChanges, jobFields, twoTimes } from '../job/options.js'
import type { Policy, Rule } from '../policy/policy.js'
import { PRESETS } from '../policy/presets.js'
import { freeText } from '../values/limits.js'
import { present } from '../values/present.js'
import { about, boolean, type Infer, integer, named, oneOf, read, refined, refuse } from '../values/schema.js'
import { object } from '../values/shape.js'
import { cronText } from './options.js'
import type { Schedule, ScheduledJob } from './schedule.js'

const DELIVERIES = { AT_LEAST_ONCE: 'at-least-once', AT_MOST_ONCE: 'at-most-once' } as const
const RETRIES_MAX = 1_000

const schedule = about(cronText, 'Cron, with or without seconds.')
const settings = {
  type: about(oneOf(['AT_LEAST_ONCE', 'AT_MOST_ONCE']), 'Default `AT_LEAST_ONCE`.'),
  isRecurring: about(boolean, 'Default true.'),
  maxRetryCount: about(integer(0, RETRIES_MAX), `Default ${PRESETS.http.maxRetries}.`),
}
const api = about(url, 'The URL that is called.')
const { method, headers, body, timeout } = httpRequest.optional
const request = { method: about(method, 'Default `POST`.'), headers, body, timeout }

/** A schedule of HTTP calls, in the short form. */
export const scheduleForm = named(
  'ScheduleForm',
  object(
    { schedule, api },
    {
      ...settings,
      ...request,
      tenantId: freeText,
      key: about(freeText, 'Idempotency key, per tenant: the same key gives the same schedule.'),
    },
  ),
  { example: { schedule: '*/10 * * * * *', api: 'https://api.example/ping', isRecurring: true } },
)

export type ScheduleForm = Infer<typeof scheduleForm>

/** The same schedule in the general form. */
export interface ParsedForm {
  readonly cron: string
  readonly http: HttpRequest
  readonly delivery: Delivery
  readonly retry: Policy
  readonly recurring: boolean
  readonly tenantId?: string
  /** Settings that were given and have no effect. */
  readonly warnings: readonly string[]
}

/** Any response other than a 2xx, and no response: refused and cut connections, TLS, DNS, timeouts. */
const EVERY_FAILURE: readonly Rule[] = [
  { when: { status: 429 }, as: 'throttled' },
  { when: { name: ['HttpError', 'TimeoutError'] }, as: 'transient' },
]

/** Whether the input has this form. */
export function isScheduleForm(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'schedule' in input && 'api' in input
}

/** In this form every failure of the call is retried. */
export function parseScheduleForm(input: unknown, where: string): ParsedForm {
  const form = read(scheduleForm, input, where)
  const { type = 'AT_LEAST_ONCE', isRecurring = true, maxRetryCount, tenantId } = form
  const delivery = DELIVERIES[type]
  return present({
    cron: form.schedule,
    http: { url: form.api, method: 'POST' as const, ...requestIn(form), retryClientErrors: true },
    delivery,
    retry: { ...PRESETS.http, maxRetries: maxRetryCount ?? PRESETS.http.maxRetries, rules: EVERY_FAILURE },
    recurring: isRecurring,
    tenantId,
    warnings: warningsOf(delivery, maxRetryCount),
  })
}

type RequestFields = { readonly [Name in keyof typeof request]?: Infer<(typeof request)[Name]> | undefined }

const requestIn = ({ method: verb, headers: sent, body: content, timeout: limit }: RequestFields) =>
  present({ method: verb, headers: sent, body: content, timeout: limit })

function warningsOf(delivery: Delivery, maxRetryCount: number | undefined): readonly string[] {
  if (delivery === 'at-least-once' || maxRetryCount === undefined || maxRetryCount === 0) return []
  return [`AT_MOST_ONCE runs once and is never retried, so maxRetryCount ${maxRetryCount} has no effect`]
}

const payloadOf = ({ payload }: ScheduledJob): HttpRequest => JSON.parse(payload) as HttpRequest

/** The fields of the form as they apply now; none if the schedule has another form. */
export function formOf({ timing, recurring, job, posted }: Schedule): Partial<ScheduleForm> {
  if (posted === undefined || job.name !== 'http') return {}
  const call = payloadOf(job)
  return present({
    schedule: timing.cron,
    api: call.url,
    type: job.delivery === 'at-most-once' ? ('AT_MOST_ONCE' as const) : ('AT_LEAST_ONCE' as const),
    isRecurring: recurring,
    maxRetryCount: job.override?.maxRetries ?? PRESETS.http.maxRetries,
    ...requestIn(call),
    key: posted.key,
  })
}

const { deadline: _, timeout: _timeout, ...shared } = jobFields
const fields = { schedule, ...settings, api, ...request, ...shared }

const changes = object({}, fields)

/** The changes of a schedule and of its waiting occurrence; absent fields stay unchanged. */
export const scheduleEdit = refined(changes, given => {
  if (Object.keys(given).length === 0) return `nothing to change; give one of ${Object.keys(fields).join(', ')}`
  if (given.payload !== undefined && callField(given)) return `give payload or ${callField(given)}, not both`
  if (given.retry !== undefined && given.maxRetryCount !== undefined) return 'give retry or maxRetryCount, not both'
  return twoTimes(given)
})
export type ScheduleChanges = Infer<typeof changes>

/** A change of a job or a schedule: its id decides which of them. */
export const jobOrScheduleEdit = named('JobEdit', object({}, { ...fields, ...jobFields }), {
  description:
    '`deadline` is for jobs only; `schedule`, `api`, `type`, `isRecurring`, `maxRetryCount`, `method`, `headers` and ' +
    '`body` are for schedules only.',
})

export type JobOrScheduleChanges = Infer<typeof jobOrScheduleEdit>

const callField = (given: ScheduleChanges): string | undefined =>
  (['api', 'method', 'headers', 'body', 'timeout'] as const).find(field => given[field] !== undefined)

/** The changes of its jobs: fields of the call change the request. */
export function jobChangesIn(given: ScheduleChanges, job: ScheduledJob, where: string): JobChanges {
  const { maxRetryCount, payload, retry, priority, tags, queue, runAt, delay } = given
  const called = callField(given)
  if (called !== undefined && job.name !== 'http') {
    throw refuse([called], `its jobs "${job.name}" call no URL; change their payload`, where, 'INVALID_OPTION')
  }
  const call = called !== undefined && { ...payloadOf(job), ...present({ url: given.api }), ...requestIn(given) }
  return present({
    payload: call || payload,
    retry: maxRetryCount === undefined ? retry : { ...job.override, maxRetries: maxRetryCount },
    priority,
    tags,
    queue,
    runAt,
    delay,
  })
}

export const deliveryIn = ({ type }: ScheduleChanges): Delivery | undefined => type && DELIVERIES[type]
