import { about, anyText, anything, type Infer, integer, named } from '../values/schema.js'
import { record, view } from '../values/shape.js'
import { timestamp } from '../values/time.js'

/** The kind of the records of the audit log. Their ids sort by time. */
export const AUDIT_LOG = 'audit-log'

/** A change that a caller made through a server. */
export const auditLogEntry = named(
  'AuditLogEntry',
  view(
    { id: anyText, at: timestamp, actor: anyText, role: anyText, action: anyText },
    {
      summary: about(anyText, 'What was done: `discarded 17 dead letters (error group 3f…)`.'),
      tenantId: anyText,
      target: anyText,
      requestId: anyText,
      count: about(integer(), 'The number of changes, in an entry that sums up one second or describes a bulk change.'),
      facts: record(anything),
    },
  ),
)
export type AuditLogEntry = Infer<typeof auditLogEntry>

/** The beginning of the ids of a millisecond. A new id won't do: within a process ids only ever grow. */
export function auditIdPrefix(ms: number): string {
  const hex = Math.round(ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}
