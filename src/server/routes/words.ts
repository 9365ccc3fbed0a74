import { bulkOptions } from '../../core/job/bulk.js'
import { SCHEDULE_ID_MAX } from '../../core/schedule/id.js'
import { NAME_LENGTH_MAX } from '../../core/values/limits.js'
import { anyText, named, type Schema, text } from '../../core/values/schema.js'
import { listOf, type ObjectSchema, object, view } from '../../core/values/shape.js'

// Parts of requests and responses that several routes share.

export const id = text(SCHEDULE_ID_MAX)

export const byId = object({ id })
export const byName = object({ name: text(NAME_LENGTH_MAX) })

/** A page of a list. */
export function listSchema<T>(item: Schema<T>, component: string) {
  return named(component, view({ data: listOf(item), page: view({}, { next: anyText }) }))
}

/** An action on everything that matches a filter. */
export function bulkRequest<Filter extends ObjectSchema>(filter: Filter, component: string) {
  return named(component, object({ filter }, bulkOptions.optional))
}

/** For `If-Match` only: occurrences change a schedule without changing its version, so a GET must never return 304. */
export const versionTag = ({ version }: { readonly version: number }): Record<string, string> => ({
  ETag: `"${version}"`,
})
