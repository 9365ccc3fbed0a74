import { timeOf } from '../../core/job/run-time.js'
import type { DeferRequest, Deferred } from '../store.js'
import type { MemoryTables, Row } from './tables.js'

export function defer(tables: MemoryTables, request: DeferRequest, now: number): Deferred {
  const { delaysMs, from, pass } = request
  const rows = [...tables.rows.values()].filter(row => isMeant(row, request, now))
  rows.sort((a, b) => a.job.runAt - b.job.runAt || (a.job.id < b.job.id ? -1 : 1))
  const moved = rows.slice(0, delaysMs.length)
  for (const [index, row] of moved.entries()) {
    const at = timeOf({ delayMs: delaysMs[index]! }, now)
    tables.change(row, { ...row.job, pass, runAt: 'pass' in from ? at : Math.max(at, row.job.runAt) })
  }
  return { moved: moved.length }
}

function isMeant({ job }: Row, { dependency, from, pass, ...only }: DeferRequest, now: number): boolean {
  return (
    job.state === 'waiting' &&
    job.dependency === dependency &&
    (only.tenantId === undefined || (job.tenantId ?? null) === only.tenantId) &&
    job.pass !== pass &&
    ('pass' in from ? job.pass === from.pass : job.pass !== -pass && job.runAt <= now + from.dueWithinMs) &&
    (job.deadline === undefined || job.deadline > now) &&
    (!only.retriesOnly || job.attempt > 0) &&
    (!only.repeatableOnly || job.delivery === 'at-least-once') &&
    job.id !== only.exceptId
  )
}
