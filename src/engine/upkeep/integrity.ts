import type { JobState } from '../../core/job/job.js'
import { timeText } from '../../core/job/view.js'
import { idDifference } from '../../store/id-xor.js'
import type { AuditFinding, AuditSnapshot, QueueAudit } from '../../store/integrity.js'

export interface QueueBalance {
  readonly queue: string
  readonly enqueued: number
  /** Pruned or deleted. */
  readonly removed: number
  readonly rows: Readonly<Record<JobState, number>>
  readonly isBalanced: boolean
  /** Why the queue is not balanced. Names the job if a single row makes the difference. */
  readonly problem?: string
  readonly jobId?: string
}

/** The result of an integrity check. `isSound` means that no job was lost. */
export interface IntegrityReport {
  readonly isSound: boolean
  readonly at: string
  readonly queues: readonly QueueBalance[]
  readonly findings: readonly AuditFinding[]
}

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
