import {
  BATCH_MAX,
  NAME_LENGTH_MAX,
  PAGE_MAX,
  TAG_LENGTH_MAX,
  TAGS_MAX,
  TEXT_LENGTH_MAX,
} from '../../core/values/limits.js'
import { z } from './zod.js'

// Fields that come again and again, each with its bounds. The engine checks them once more, in its own words.

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
  .openapi({ description: 'A text with a unit (250ms, 30s, 5m, 2h, 7d), or milliseconds.', example: '30s' })

export const byId = z.object({ id })
export const byName = z.object({ name })

/** What a list is asked for. Numbers in a query are texts. */
export const paging = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(PAGE_MAX)
    .optional()
    .openapi({ description: `1 to ${PAGE_MAX}; default 50.` }),
  cursor: z.string().min(1).max(2048).optional().openapi({ description: '`page.next` of the page before.' }),
}
export const pageQuery = z.strictObject(paging)

export const flag = z
  .enum(['true', 'false'])
  .transform(word => word === 'true')
  .openapi({ type: 'boolean' })

export const countSchema = z
  .object({ value: count, relation: z.enum(['exact', 'at-least']) })
  .openapi('Count', { description: 'Exact, or "at least" where counting on would take too long.' })

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

/** An action on all that a filter matches. */
export function bulkRequest<Filter extends z.ZodType>(filter: Filter, name: string) {
  return z
    .strictObject({
      filter,
      dryRun: z.boolean().optional().openapi({ description: 'Change nothing, and say how many there are.' }),
      all: z.boolean().optional().openapi({ description: 'An empty filter means all of them; it has to be said.' }),
    })
    .openapi(name)
}

export const ids = z.array(id).max(BATCH_MAX)
