import { type HttpRequest, url, urlOf } from '../http/request.js'
import type { Delivery } from '../job/job.js'
import type { Policy } from '../policy/policy.js'
import { PRESETS } from '../policy/presets.js'
import { ChronosError, shown } from '../values/error.js'
import { checkInteger } from '../values/limits.js'
import { readForm } from '../values/options-reader.js'
import { read } from '../values/schema.js'

/** A schedule of HTTP calls, in the short form: `{ schedule, api, type, isRecurring, maxRetryCount }`. */
export interface ScheduleForm {
  /** Cron, with or without seconds. */
  readonly schedule: string
  /** The URL that is called. */
  readonly api: string
  readonly type?: 'AT_LEAST_ONCE' | 'AT_MOST_ONCE'
  /** Default true. */
  readonly isRecurring?: boolean
  /** Default 3. */
  readonly maxRetryCount?: number
}

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

const KEYS: readonly (keyof ScheduleForm)[] = ['schedule', 'api', 'type', 'isRecurring', 'maxRetryCount']
const DELIVERIES: Readonly<Record<string, Delivery>> = {
  AT_LEAST_ONCE: 'at-least-once',
  AT_MOST_ONCE: 'at-most-once',
}
const RETRIES_MAX = 1_000

/** Whether the input has this form. */
export function isScheduleForm(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'schedule' in input && 'api' in input
}

/** In this form every response except a 2xx is a failure that is retried. */
export function parseScheduleForm(input: unknown, where: string): ParsedForm {
  const form = readForm(input, where, KEYS, 'INVALID_OPTION')
  const schedule = form.get('schedule')
  if (typeof schedule !== 'string') {
    throw new ChronosError('INVALID_OPTION', `${where}.schedule: expected a cron expression, got ${shown(schedule)}`)
  }
  const type = form.get('type') ?? 'AT_LEAST_ONCE'
  const delivery = typeof type === 'string' && Object.hasOwn(DELIVERIES, type) ? DELIVERIES[type] : undefined
  if (delivery === undefined) {
    throw new ChronosError(
      'INVALID_OPTION',
      `${where}.type: expected AT_LEAST_ONCE or AT_MOST_ONCE, got ${shown(type)}`,
    )
  }
  const recurring = form.get('isRecurring') ?? true
  if (typeof recurring !== 'boolean') {
    throw new ChronosError('INVALID_OPTION', `${where}.isRecurring: expected true or false, got ${shown(recurring)}`)
  }
  const maxRetries = form.get('maxRetryCount') ?? PRESETS.http.maxRetries
  checkInteger(maxRetries, `${where}.maxRetryCount`, 0, RETRIES_MAX)
  const { href } = urlOf(read(url, form.get('api'), `${where}.api`))
  return {
    cron: schedule,
    http: { method: 'POST', url: href, retryClientErrors: true },
    delivery,
    retry: { ...PRESETS.http, maxRetries, rules: [{ when: { status: ['3xx', '5xx'] }, as: 'transient' }] },
    recurring,
    warnings: warningsOf(delivery, form.get('maxRetryCount')),
  }
}

function warningsOf(delivery: Delivery, maxRetryCount: unknown): readonly string[] {
  if (delivery === 'at-least-once' || maxRetryCount === undefined || maxRetryCount === 0) return []
  return [`AT_MOST_ONCE runs once and is never retried, so maxRetryCount ${String(maxRetryCount)} has no effect`]
}
