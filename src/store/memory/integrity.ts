import { present } from '../../core/values/present.js'
import type { Delta, LedgerDelta } from '../delta.js'
import { LEDGER } from '../fold.js'
import { AuditDraft, type AuditSnapshot } from '../integrity.js'
import { turnsToAudit } from './partitions.js'
import type { MemoryTables, Row } from './tables.js'

export function audit(tables: MemoryTables, now: number): AuditSnapshot {
  const draft = new AuditDraft(now)
  for (const { kind, id, body } of tables.records.values()) {
    if (kind === LEDGER) draft.ledger(id, JSON.parse(body) as LedgerDelta)
  }
  for (const text of tables.deltas) {
    for (const [queue, change] of Object.entries((JSON.parse(text) as Delta).ledger)) draft.ledger(queue, change)
  }
  for (const row of tables.rows.values()) {
    draft.rows(row.job.queue, row.job.state, 1, row.job.id)
    draft.job(recordsOf(row))
  }
  for (const [queue, partitions] of turnsToAudit(tables, now)) {
    draft.limited(queue)
    for (const partition of partitions) draft.partition(queue, partition)
  }
  return draft.toSnapshot()
}

function recordsOf({ job, lease, attempts }: Row) {
  const { id, state, generation, run } = job
  const lastRun = attempts.at(-1)?.record.run ?? 0
  const isSuccess = ({ record }: Row['attempts'][number]) =>
    record.status === 'succeeded' && record.generation === generation
  const successes = attempts.filter(isSuccess).length
  const facts = { id, state, generation, run, attempts: attempts.length, lastRun, successes }
  return { ...facts, ...present({ lease }) }
}
