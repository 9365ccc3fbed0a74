import { pageLimit } from '../../core/values/limits.js'
import { read } from '../../core/values/schema.js'
import type { PageRequest } from '../../store/store.js'
import type { Searched } from './search.js'

export { type DeadQuery, type JobQuery, parseJobQuery as jobFilter } from '../../core/job/filter.js'

export const PAGE_DEFAULT = 50

export interface PageQuery {
  readonly limit?: number
  readonly cursor?: string
}

export interface TenantQuery extends PageQuery {
  /** Only what belongs to this tenant. */
  readonly tenantId?: string
}

export interface List<T> {
  readonly data: readonly T[]
  readonly page: { readonly next?: string }
  /** How far a text (`q`, `error`) was looked for. */
  readonly searched?: Searched
}

export function listOf<T>(data: readonly T[], next: string | undefined): List<T> {
  return { data, page: { ...(next !== undefined && { next }) } }
}

export function pageOf({ limit = PAGE_DEFAULT, cursor }: PageQuery, where: string): PageRequest {
  read(pageLimit, limit, `${where}: limit`)
  return { limit, ...(cursor !== undefined && { cursor }) }
}
