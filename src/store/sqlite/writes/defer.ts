import { timeOf } from '../../../core/job/run-time.js'
import { fromText, toText, toTextOrNull } from '../../columns.js'
import type { DeferRequest, Deferred } from '../../store.js'
import type { Connection } from '../file/connection.js'
import type { Value } from '../file/driver.js'
import { ID } from '../rows.js'
import { LaneDraft } from './lanes.js'

export function defer(
  db: Connection,
  { dependency, from, delaysMs, pass, ...only }: DeferRequest,
  now: number,
): Deferred {
  const conditions = [`state = 'waiting' AND dependency = ? AND pass IS NOT ? AND (deadline IS NULL OR deadline > ?)`]
  const values: Value[] = [toText(dependency), pass, now]
  const add = (sql: string, ...more: readonly Value[]) => {
    conditions.push(sql)
    values.push(...more)
  }
  if (only.tenantId !== undefined) add('tenant_id IS ?', toTextOrNull(only.tenantId ?? undefined))
  if ('pass' in from) add('pass = ?', from.pass)
  else add('pass IS NOT ? AND run_at <= ?', -pass, now + from.dueWithinMs)
  if (only.retriesOnly) add('attempt > 0')
  if (only.repeatableOnly) add('at_most_once = 0')
  if (only.exceptId !== undefined) add(`id IS NOT ${ID}`, only.exceptId)
  const rows = db.all<[pk: number, runAt: number, queue: string, lane: string | null]>(
    `SELECT pk, run_at, queue, lane FROM jobs INDEXED BY jobs_dependency WHERE ${conditions.join(' AND ')}
     ORDER BY run_at, id LIMIT ?`,
    ...values,
    delaysMs.length,
  )
  const lanes = new LaneDraft()
  for (const [index, [pk, runAt, queue, lane]] of rows.entries()) {
    const at = timeOf({ delayMs: delaysMs[index]! }, now)
    const later = 'pass' in from ? at : Math.max(at, runAt)
    db.run('UPDATE jobs SET run_at = ?, pass = ? WHERE pk = ?', later, pass, pk)
    if (lane !== null) lanes.change(fromText(queue), fromText(lane))
  }
  lanes.write(db, now)
  return { moved: rows.length }
}
