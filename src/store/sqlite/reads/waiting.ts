import { toText } from '../../columns.js'
import { LINES_MAX } from '../../reads/census.js'
import {
  WAITING_COLUMNS,
  WaitingDraft,
  type WaitingGroups,
  type WaitingRequest,
  type WaitingRow,
  waitingGroup,
  waitingLine,
  waitingSql,
} from '../../reads/waiting.js'
import type { Connection } from '../file/connection.js'
import type { Value } from '../file/driver.js'
import { fromHex, type Line as Index } from '../rows.js'
import { lines } from './lines.js'
import type { Steps } from './search.js'

const inLine = (index: Index): string => `FROM jobs ${index} AND queue = ? AND priority = ?`
const DEPENDENCY = `FROM jobs INDEXED BY jobs_dependency WHERE dependency IS NOT NULL AND state = 'waiting' AND dependency = ?`

/** The number of jobs that one step reads, unless a single range has more. */
const JOBS_AT_ONCE = 5_000

interface Draft {
  readonly groups: WaitingDraft
  isCut: boolean
}

/** Reads some ranges of an index at a time, so that the event loop is blocked for a few milliseconds only. */
export async function waiting(steps: Steps, request: WaitingRequest, now: number): Promise<WaitingGroups> {
  const { queue, dependency, exceptQueue, lookAt, limit } = request
  const draft: Draft = { groups: new WaitingDraft(), isCut: false }
  if (dependency === undefined) {
    const found = await lines(steps, queue === undefined ? undefined : toText(queue), LINES_MAX + 1)
    draft.isCut = found.length > LINES_MAX
    const left = exceptQueue === undefined ? undefined : toText(exceptQueue)
    const own = found.slice(0, LINES_MAX).filter(({ line: [name] }) => name !== left)
    const most = waitingLine(lookAt, new Set(own.map(({ line: [name] }) => name)).size)
    const atOnce = Math.max(1, Math.floor(JOBS_AT_ONCE / most))
    for (let from = 0; from < own.length; from += atOnce) {
      await steps(db => {
        for (const { index, line } of own.slice(from, from + atOnce))
          addRange(db, draft, inLine(index), line, most, request, now)
      })
    }
  } else await steps(db => addRange(db, draft, DEPENDENCY, [toText(dependency)], lookAt, request, now))
  const { groups, isCut } = draft
  return { now, groups: groups.largest(limit), complete: !isCut && groups.size <= limit }
}

function addRange(
  db: Connection,
  draft: Draft,
  range: string,
  place: readonly Value[],
  most: number,
  request: WaitingRequest,
  now: number,
): void {
  // Most jobs may wait for their first run. The index says which do not, so only those are read.
  const first = `SELECT pk, ${request.retriesOnly ? 'attempt > 0' : 'true'} AS wanted ${range} ORDER BY run_at LIMIT ?`
  const counted = `SELECT count(*), total(wanted) FROM (${first})`
  const [looked, wanted] = db.get<[number, number]>(counted, ...place, most + 1)!
  if (looked > most) draft.isCut = true
  if (wanted === 0) return
  const [conditions, values] = conditionsOf(request)
  const jobs = `SELECT ${WAITING_COLUMNS} FROM jobs WHERE pk IN (SELECT pk FROM (${first}) WHERE wanted)`
  const sql = waitingSql(jobs, conditions, 'max(run_at, ?)', 'hex(min(id))')
  const rows = db.all<WaitingRow>(sql, now, ...place, most, ...values)
  for (const row of rows) {
    const group = waitingGroup(row)
    draft.groups.add({ ...group, sampleId: fromHex(group.sampleId) })
  }
}

function conditionsOf(request: WaitingRequest): [sql: string, values: Value[]] {
  const { queue, exceptQueue, fingerprint, tenantId } = request
  const conditions = ['true']
  const values: Value[] = []
  const add = (sql: string, value: string | null): void => {
    conditions.push(sql)
    values.push(value)
  }
  if (queue !== undefined) add('queue = ?', toText(queue))
  if (exceptQueue !== undefined) add('queue <> ?', toText(exceptQueue))
  if (fingerprint !== undefined) add('fingerprint = ?', toText(fingerprint))
  if (tenantId !== undefined) add('tenant_id IS ?', tenantId === null ? null : toText(tenantId))
  return [conditions.join(' AND '), values]
}
