import type { Phase } from '../../core/job/job.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { checkInteger, checkKeys, checkText, checkWord, PAGE_MAX } from '../../core/values/limits.js'
import type { JobFilter, PageRequest } from '../../store/store.js'
import { timeOf } from '../client/enqueuer.js'
import type { Searched } from './search.js'

export const PAGE_DEFAULT = 50
const IDS_MAX = 10_000
const STATES = ['waiting', 'running', 'succeeded', 'dead', 'cancelled'] as const
const PHASES = ['scheduled', 'queued', 'retrying', ...STATES] as const
const TEXTS = [
  'queue',
  'name',
  'tenantId',
  'key',
  'tag',
  'reason',
  'fingerprint',
  'dependency',
  'redriveId',
  'scheduleId',
  'error',
  'q',
] as const
const FILTERS = ['ids', 'state', 'phase', ...TEXTS, 'acknowledged', 'createdAfter', 'createdBefore']

/** Which jobs to list or count. */
export interface JobQuery
  extends Omit<JobFilter, 'phase' | 'createdAfter' | 'createdBefore' | 'finishedBefore' | 'error' | 'text'> {
  readonly phase?: Phase
  /** Part of the name, code or message of the last error; upper and lower case are the same. */
  readonly error?: string
  /** Part of the id, name, queue, key, tags, payload or error; upper and lower case are the same. */
  readonly q?: string
  readonly createdAfter?: Date | string | number
  readonly createdBefore?: Date | string | number
}

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
  checkInteger(limit, `${where}: limit`, 1, PAGE_MAX)
  return { limit, ...(cursor !== undefined && { cursor }) }
}

/** The store's filter from what somebody asked for; `where` names the place in errors. */
export function jobFilter(query: JobQuery, where: string): JobFilter {
  checkKeys(query, FILTERS, where)
  for (const text of TEXTS) if (query[text] !== undefined) checkText(query[text], `${where}: ${text}`)
  const { phase, createdAfter, createdBefore, state, ids, acknowledged, q, ...rest } = query
  for (const one of state === undefined ? [] : [state].flat()) checkWord(one, STATES, `${where}: state`)
  if (phase !== undefined) checkWord(phase, PHASES, `${where}: phase`)
  if (ids !== undefined) checkIds(ids, where)
  if (acknowledged !== undefined && typeof acknowledged !== 'boolean') {
    throw new ChronosError(
      'INVALID_OPTION',
      `${where}: acknowledged: expected true or false, got ${shown(acknowledged)}`,
    )
  }
  return {
    ...rest,
    ...(q !== undefined && { text: q }),
    ...(ids !== undefined && { ids }),
    ...(acknowledged !== undefined && { acknowledged }),
    ...(state !== undefined && { state }),
    ...(phase !== undefined && phaseFilter(phase)),
    ...(createdAfter !== undefined && { createdAfter: timeOf(createdAfter, `${where}: createdAfter`) }),
    ...(createdBefore !== undefined && { createdBefore: timeOf(createdBefore, `${where}: createdBefore`) }),
  }
}

function checkIds(ids: unknown, where: string): void {
  if (Array.isArray(ids) && ids.length <= IDS_MAX && ids.every(id => typeof id === 'string')) return
  throw new ChronosError('INVALID_OPTION', `${where}: ids: expected up to ${IDS_MAX} ids, got ${shown(ids)}`)
}

function phaseFilter(phase: Phase): Pick<JobFilter, 'phase' | 'state'> {
  return phase === 'scheduled' || phase === 'queued' || phase === 'retrying' ? { phase } : { state: phase }
}
