import type { Job, JobState } from '../core/job/job.js'
import {
  LIMIT_FLAWS,
  type PartitionTurns,
  partitionFlaws,
  type QueueTurns,
  queueFlaws,
} from '../core/partition/integrity.js'
import { about, anyText, type Infer, named, oneOf } from '../core/values/schema.js'
import { view } from '../core/values/shape.js'
import type { LedgerDelta } from './delta.js'
import { foldLedger } from './fold.js'
import { IdSum } from './id-xor.js'

/** The ledger and the rows of each queue at one moment. */
export interface AuditSnapshot {
  readonly now: number
  /** Queues sorted by name. */
  readonly queues: readonly QueueAudit[]
  /** Jobs whose own records contradict each other; at most `AUDIT_FINDINGS_MAX` of each kind. */
  readonly findings: readonly AuditFinding[]
}

export const AUDIT_FINDINGS_MAX = 100

export interface QueueAudit {
  readonly queue: string
  /** The ledger from the folded records and the deltas that are not folded yet. */
  readonly ledger: LedgerDelta
  readonly rows: Readonly<Record<JobState, number>>
  readonly idSum: string
}

const FINDINGS = [
  /** succeeded without exactly one succeeded run in its generation */
  'success-runs',
  /** the run numbers do not count up from 1 without gaps */
  'run-gap',
  /** the lease expired more than two lease times ago */
  'lease-expired',
  /** the attempts have no job; the id is the internal key of the row */
  'orphan-attempts',
  ...LIMIT_FLAWS,
] as const

export const auditFinding = named(
  'IntegrityFinding',
  view({
    jobId: about(
      anyText,
      'The job; of `orphan-attempts` the number of a row, of `rate-clock` the queue and the partition.',
    ),
    what: oneOf(FINDINGS),
    detail: anyText,
  }),
)
export type AuditFinding = Infer<typeof auditFinding>

/** The facts in a job's row and in its attempts that must agree. */
export interface JobRecords extends Pick<Job, 'id' | 'state' | 'generation' | 'run'> {
  readonly lease?: { readonly until: number; readonly ms: number }
  readonly attempts: number
  readonly lastRun: number
  /** The number of succeeded runs in the current generation. */
  readonly successes: number
}

const NO_ROWS: Readonly<Record<JobState, number>> = { waiting: 0, running: 0, succeeded: 0, dead: 0, cancelled: 0 }
const NO_LEDGER: LedgerDelta = { enqueued: 0, removed: 0, idSum: new IdSum().toString() }

/** Collects a snapshot. */
export class AuditDraft {
  readonly #now: number
  readonly #queues = new Map<string, { ledger: LedgerDelta; rows: Record<JobState, number>; ids: IdSum }>()
  readonly #findings: AuditFinding[] = []
  readonly #found: Record<AuditFinding['what'], number> = {
    'success-runs': 0,
    'run-gap': 0,
    'lease-expired': 0,
    'orphan-attempts': 0,
    'over-limit': 0,
    stranded: 0,
    'rate-clock': 0,
  }

  constructor(now: number) {
    this.#now = now
  }

  ledger(queue: string, change: LedgerDelta): void {
    const audit = this.#of(queue)
    audit.ledger = foldLedger(audit.ledger, change)
  }

  /** Adds rows of one queue and state. `ids` is one id, or the sum of `count` ids. */
  rows(queue: string, state: JobState, count: number, ids: string): void {
    const audit = this.#of(queue)
    audit.rows[state] += count
    audit.ids.add(ids)
  }

  job({ id, state, generation, run, attempts, lastRun, successes, lease }: JobRecords): void {
    const ended = state === 'running' ? run - 1 : run
    if (attempts !== ended || lastRun !== ended) {
      this.#find(
        id,
        'run-gap',
        `${ended} runs have ended, but there are ${attempts} attempts, the last one of run ${lastRun}`,
      )
    }
    if (state === 'succeeded' && successes !== 1) {
      this.#find(id, 'success-runs', `the job succeeded, but generation ${generation} has ${successes} succeeded runs`)
    }
    if (lease && lease.until + 2 * lease.ms < this.#now) {
      const agoMs = this.#now - lease.until
      this.#find(
        id,
        'lease-expired',
        `a lease of ${lease.ms} ms expired ${agoMs} ms ago, and the job was not recovered`,
      )
    }
  }

  orphans(row: string, attempts: number): void {
    const runs = attempts === 1 ? 'one attempt' : `${attempts} attempts`
    this.#find(row, 'orphan-attempts', `${runs} of a job that does not exist`)
  }

  limited(queue: QueueTurns): void {
    for (const { jobId, what, detail } of queueFlaws(queue, this.#now)) this.#find(jobId, what, detail)
  }

  partition(queue: QueueTurns, partition: PartitionTurns): void {
    for (const { jobId, what, detail } of partitionFlaws(queue, partition, this.#now)) this.#find(jobId, what, detail)
  }

  /** A job waits in a partition of a queue that has none. */
  outside(jobId: string, queue: string): void {
    this.#find(jobId, 'stranded', `it waits in a partition, but queue ${JSON.stringify(queue)} has none`)
  }

  toSnapshot(): AuditSnapshot {
    const names = [...this.#queues.keys()].sort()
    const queues = names.map(queue => {
      const { ledger, rows, ids } = this.#queues.get(queue)!
      return { queue, ledger, rows, idSum: ids.toString() }
    })
    return { now: this.#now, queues, findings: this.#findings }
  }

  #find(jobId: string, what: AuditFinding['what'], detail: string): void {
    this.#found[what] += 1
    if (this.#found[what] <= AUDIT_FINDINGS_MAX) this.#findings.push({ jobId, what, detail })
  }

  #of(queue: string) {
    const known = this.#queues.get(queue)
    if (known) return known
    const audit = { ledger: NO_LEDGER, rows: { ...NO_ROWS }, ids: new IdSum() }
    this.#queues.set(queue, audit)
    return audit
  }
}
