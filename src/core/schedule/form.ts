import { type HttpRequest, url, urlOf } from '../http/request.js'
import type { Delivery } from '../job/job.js'
import type { Policy } from '../policy/policy.js'
import { PRESETS } from '../policy/presets.js'
import { about, boolean, type Infer, integer, named, oneOf, read } from '../values/schema.js'
import { object } from '../values/shape.js'
import { cronText } from './options.js'

const DELIVERIES = { AT_LEAST_ONCE: 'at-least-once', AT_MOST_ONCE: 'at-most-once' } as const
const RETRIES_MAX = 1_000

/** A schedule of HTTP calls, in the short form. */
export const scheduleForm = named(
  'ScheduleForm',
  object(
    {
      schedule: about(cronText, 'Cron, with or without seconds.'),
      api: about(url, 'The URL that is called.'),
    },
    {
      type: about(oneOf(['AT_LEAST_ONCE', 'AT_MOST_ONCE']), 'Default `AT_LEAST_ONCE`.'),
      isRecurring: about(boolean, 'Default true.'),
      maxRetryCount: about(integer(0, RETRIES_MAX), `Default ${PRESETS.http.maxRetries}.`),
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
  /** Settings that were given and have no effect. */
  readonly warnings: readonly string[]
}

/** Whether the input has this form. */
export function isScheduleForm(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'schedule' in input && 'api' in input
}

/** In this form every response except a 2xx is a failure that is retried. */
export function parseScheduleForm(input: unknown, where: string): ParsedForm {
  const given = read(scheduleForm, input, where)
  const { schedule, api, type = 'AT_LEAST_ONCE', isRecurring = true, maxRetryCount } = given
  const delivery = DELIVERIES[type]
  const maxRetries = maxRetryCount ?? PRESETS.http.maxRetries
  return {
    cron: schedule,
    http: { method: 'POST', url: urlOf(api).href, retryClientErrors: true },
    delivery,
    retry: { ...PRESETS.http, maxRetries, rules: [{ when: { status: ['3xx', '5xx'] }, as: 'transient' }] },
    recurring: isRecurring,
    warnings: warningsOf(delivery, maxRetryCount),
  }
}

function warningsOf(delivery: Delivery, maxRetryCount: number | undefined): readonly string[] {
  if (delivery === 'at-least-once' || maxRetryCount === undefined || maxRetryCount === 0) return []
  return [`AT_MOST_ONCE runs once and is never retried, so maxRetryCount ${maxRetryCount} has no effect`]
}
