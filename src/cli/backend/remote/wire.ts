import { timeText } from '../../../core/job/view.js'
import { timeOf } from '../../../engine/client/enqueuer.js'
import type { JobQuery } from '../../../engine/jobs/jobs.js'

type Moment = Date | string | number

/** A time as the API takes it. */
export function wireTime(at: Moment, what: string): string {
  return timeText(timeOf(at, what))
}

/** Converts the given fields to the times that the API takes. */
export function withTimes<T extends object>(given: T, times: readonly (keyof T & string)[]): Record<string, unknown> {
  const wire: Record<string, unknown> = Object.fromEntries(Object.entries(given))
  for (const name of times) if (given[name] !== undefined) wire[name] = wireTime(given[name] as Moment, name)
  return wire
}

/** A filter in a request body. */
export function wireFilter(query: JobQuery): Record<string, unknown> {
  return withTimes(query, ['createdAfter', 'createdBefore'])
}

/** A filter in a query string, where ids are separated by commas. */
export function queryFilter(query: JobQuery): Record<string, unknown> {
  const { ids, ...rest } = wireFilter(query) as { readonly ids?: readonly string[] }
  return { ...rest, ...(ids && { ids: ids.join(',') }) }
}

/** A time, or a duration from now. */
export function wireDeadline(deadline: Moment): string | number {
  return deadline instanceof Date ? timeText(deadline.getTime()) : deadline
}
