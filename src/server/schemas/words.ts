import {
  BATCH_MAX,
  NAME_LENGTH_MAX,
  PAGE_MAX,
  TAG_LENGTH_MAX,
  TAGS_MAX,
  TEXT_LENGTH_MAX,
} from '../../core/values/limits.js'
import { z } from './zod.js'

// Common fields with their bounds. The engine checks them again.

export const name = z.string().min(1).max(NAME_LENGTH_MAX)
export const text = z.string().min(1).max(TEXT_LENGTH_MAX)
export const id = z.string().min(1).max(128)
export const tags = z.array(z.string().min(1).max(TAG_LENGTH_MAX)).max(TAGS_MAX)
export const time = z.iso
  .datetime({ offset: true })
  .openapi({ format: 'date-time', example: '2026-11-16T09:00:00.000Z' })
export const count = z.number().int().min(0)
export const share = z.number().min(0).max(1)
/** `'30s'`, or milliseconds. */
export const duration = z
  .union([z.string().min(1).max(40), z.number().min(0)])
  .openapi({ description: 'A string with a unit (250ms, 30s, 5m, 2h, 7d), or milliseconds.', example: '30s' })

export const byId = z.object({ id })
export const byName = z.object({ name })

/** The query of a list. Numbers in a query are strings. */
export const paging = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(PAGE_MAX)
    .optional()
    .openapi({ description: `1 to ${PAGE_MAX}; default 50.` }),
  cursor: z.string().min(1).max(2048).optional().openapi({ description: '`page.next` of the previous page.' }),
}
export const pageQuery = z.strictObject(paging)

export const flag = z
  .enum(['true', 'false'])
  .transform(word => word === 'true')
  .openapi({ type: 'boolean' })

export const countSchema = z
  .object({ value: count, relation: z.enum(['exact', 'at-least']) })
  .openapi('Count', { description: 'An exact count, or "at least" if counting further would take too long.' })

/** A page of a list. */
export function listSchema(item: z.ZodType, name: string): z.ZodObject {
  return z
    .object({
      data: z.array(item),
      page: z.object({ next: z.string().optional() }),
    })
    .openapi(name)
}

export const bulkSchema = z
  .object({ matched: count, changed: count, refused: count.optional(), dryRun: z.boolean() })
  .openapi('BulkResult')

/** An action on everything that matches a filter. */
export function bulkRequest<Filter extends z.ZodType>(filter: Filter, name: string) {
  return z
    .strictObject({
      filter,
      dryRun: z.boolean().optional().openapi({ description: 'Change nothing, and return the number of matches.' }),
      all: z.boolean().optional().openapi({ description: 'Confirms that an empty filter means everything.' }),
    })
    .openapi(name)
}

export const ids = z.array(id).max(BATCH_MAX)
