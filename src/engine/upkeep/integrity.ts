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
  /** Where it is not balanced, in words; the job is named where one row makes the difference. */
  readonly problem?: string
  readonly jobId?: string
}

/** What `audit` found: nothing was lost where `isSound`. */
export interface AuditReport {
  readonly isSound: boolean
  readonly at: string
  readonly queues: readonly QueueBalance[]
  readonly findings: readonly AuditFinding[]
}

/** enqueued = succeeded + live + dead + cancelled + removed, in every queue; and each job's own records agree. */
export function judge({ now, queues, findings }: AuditSnapshot): AuditReport {
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
    return 'as many jobs as were enqueued, but not the same ones: some were deleted and others put in by hand'
  if (missing > 0) {
    return jobId === undefined ? `${missing} jobs are missing` : `job ${jobId} is missing: its row was deleted by hand`
  }
  return jobId === undefined
    ? `${-missing} jobs more than were ever enqueued`
    : `job ${jobId} was never enqueued: its row was put in by hand`
}
