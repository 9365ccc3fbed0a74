import { PRIORITY_MAX } from '../../../core/job/job.js'
import { toText } from '../../columns.js'
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
import { lanedNames, queues } from '../file/settings.js'
import { fromHex, LANES, type Line, PLAIN } from '../rows.js'
import type { Steps } from './search.js'

const inLine = (line: Line): string => `FROM jobs ${line} AND queue = ? AND priority = ?`
const DEPENDENCY = `FROM jobs INDEXED BY jobs_dependency WHERE dependency IS NOT NULL AND state = 'waiting' AND dependency = ?`

interface Draft {
  readonly groups: WaitingDraft
  isCut: boolean
}

/** Reads one range of an index at a time, so that the event loop is blocked for a few milliseconds only. */
export async function waiting(steps: Steps, request: WaitingRequest, now: number): Promise<WaitingGroups> {
  const { queue, dependency, exceptQueue, lookAt, limit } = request
  const draft: Draft = { groups: new WaitingDraft(), isCut: false }
  if (dependency === undefined) {
    const names = (await steps(queues))
      .map(({ name }) => name)
      .filter(name => (queue === undefined || name === queue) && name !== exceptQueue)
    const most = waitingLine(lookAt, names.length)
    const laned = await steps(lanedNames)
    for (const name of names) {
      for (const line of laned.has(toText(name)) ? ([PLAIN, LANES] as const) : ([PLAIN] as const)) {
        for (let priority = 0; priority <= PRIORITY_MAX; priority++)
          await steps(db => addRange(db, draft, inLine(line), [toText(name), priority], most, request, now))
      }
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
  const [looked] = db.get<[number]>(`SELECT count(*) FROM (SELECT 1 ${range} LIMIT ?)`, ...place, most + 1)!
  if (looked === 0) return
  if (looked > most) draft.isCut = true
  const [conditions, values] = conditionsOf(request)
  const jobs = `SELECT ${WAITING_COLUMNS} ${range} ORDER BY run_at LIMIT ?`
  const sql = waitingSql(jobs, conditions, 'max(run_at, ?)', 'hex(min(id))')
  const rows = db.all<WaitingRow>(sql, now, ...place, most, ...values)
  for (const row of rows) {
    const group = waitingGroup(row)
    draft.groups.add({ ...group, sampleId: fromHex(group.sampleId) })
  }
}

function conditionsOf(request: WaitingRequest): [sql: string, values: Value[]] {
  const { queue, exceptQueue, fingerprint, tenantId, retriesOnly } = request
  const conditions = ['true']
  const values: Value[] = []
  const add = (sql: string, value: string | null): void => {
    conditions.push(sql)
    values.push(value)
  }
  if (retriesOnly) conditions.push('attempt > 0')
  if (queue !== undefined) add('queue = ?', toText(queue))
  if (exceptQueue !== undefined) add('queue <> ?', toText(exceptQueue))
  if (fingerprint !== undefined) add('fingerprint = ?', toText(fingerprint))
  if (tenantId !== undefined) add('tenant_id IS ?', tenantId === null ? null : toText(tenantId))
  return [conditions.join(' AND '), values]
}
