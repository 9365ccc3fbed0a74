import { JOB_STATES, type JobState } from '../../core/job/job.js'
import { timeText } from '../../core/job/view.js'
import { about, anyText, boolean, type Infer, integer, named, type Schema } from '../../core/values/schema.js'
import { listOf, view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import { idDifference } from '../../store/id-xor.js'
import { type AuditSnapshot, auditFinding, type QueueAudit } from '../../store/integrity.js'

export const queueBalance = named(
  'QueueBalance',
  view(
    {
      queue: anyText,
      enqueued: integer(),
      removed: about(integer(), 'Pruned or deleted.'),
      rows: view(Object.fromEntries(JOB_STATES.map(state => [state, integer()])) as Record<JobState, Schema<number>>),
      isBalanced: boolean,
    },
    {
      problem: about(anyText, 'Why the queue is not balanced. Names the job if a single row makes the difference.'),
      jobId: anyText,
    },
  ),
)
export type QueueBalance = Infer<typeof queueBalance>

/** The result of an integrity check. `isSound` means that no job was lost. */
export const integrityReport = named(
  'IntegrityReport',
  view({
    isSound: about(boolean, 'Every job is accounted for.'),
    at: timestamp,
    queues: listOf(queueBalance),
    findings: listOf(auditFinding),
  }),
)
export type IntegrityReport = Infer<typeof integrityReport>

/** enqueued = succeeded + live + dead + cancelled + removed, in every queue; and each job's own records agree. */
export function judge({ now, queues, findings }: AuditSnapshot): IntegrityReport {
  const balances = queues.map(balance)
  const isSound = findings.length === 0 && balances.every(one => one.isBalanced)
  return { isSound, at: timeText(now), queues: balances, findings }
}

function balance({ queue, ledger, rows, idSum }: QueueAudit): QueueBalance {
  const { enqueued, removed } = ledger
  const found = Object.values(rows).reduce((sum, count) => sum + count, 0)
  const missing = enqueued - removed - found
  const difference = idDifference(ledger.idSum, idSum)
  const facts = { queue, enqueued, removed, rows }
  if (missing === 0 && difference === undefined) return { ...facts, isBalanced: true }
  const single = Math.abs(missing) === 1 && difference !== undefined
  return {
    ...facts,
    isBalanced: false,
    problem: problemOf(missing, single ? difference : undefined),
    ...(single && { jobId: difference }),
  }
}

function problemOf(missing: number, jobId: string | undefined): string {
  if (missing === 0)
    return 'the number of jobs is right, but not their ids: rows were deleted and others inserted outside Chronos'
  if (missing > 0) {
    return jobId === undefined
      ? `${missing} jobs are missing`
      : `job ${jobId} is missing: its row was deleted outside Chronos`
  }
  return jobId === undefined
    ? `${-missing} more jobs than were ever enqueued`
    : `job ${jobId} was never enqueued: its row was inserted outside Chronos`
}
