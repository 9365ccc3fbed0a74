import { freeText, PAGE_MAX, pageLimit } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, type Infer, oneOf, read, text } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import type { PageRequest } from '../../store/store.js'
import type { Searched } from './search.js'

export { type DeadQuery, type JobQuery, parseJobQuery as jobFilter } from '../../core/job/filter.js'

export const PAGE_DEFAULT = 50
const CURSOR_MAX = 2_048

export const paging = {
  limit: about(pageLimit, `1 to ${PAGE_MAX}; default ${PAGE_DEFAULT}.`),
  cursor: about(text(CURSOR_MAX), '`page.next` of the previous page.'),
}
export const pageQuery = object({}, paging)
export type PageQuery = Infer<typeof pageQuery>

const runOrder = oneOf(['newest', 'oldest'])
export type RunOrder = Infer<typeof runOrder>

/** A page of the runs of a job. */
export const historyQuery = object(
  {},
  { order: about(runOrder, 'Default `newest`: the last run first. A cursor keeps the order of its list.'), ...paging },
)
export type HistoryQuery = Infer<typeof historyQuery>

/** A page of what belongs to one tenant. */
export const tenantQuery = object({}, { tenantId: freeText, ...paging })
export type TenantQuery = Infer<typeof tenantQuery>

export interface List<T> {
  readonly data: readonly T[]
  readonly page: { readonly next?: string }
  /** How far a text (`q`, `error`) was looked for. */
  readonly searched?: Searched
}

export function listOf<T>(data: readonly T[], next: string | undefined): List<T> {
  return { data, page: present({ next }) }
}

export function pageOf({ limit = PAGE_DEFAULT, cursor }: PageQuery, where: string): PageRequest {
  read(pageLimit, limit, `${where}: limit`)
  return present({ limit, cursor })
}

export function historyPageOf({ order = 'newest', ...page }: HistoryQuery, where: string): PageRequest {
  return { ...pageOf(page, where), order: read(runOrder, order, `${where}: order`) }
}
