import type { Delivery } from '../../core/job/job.js'
import type { PartialPolicy } from '../../core/policy/policy.js'
import { present } from '../../core/values/present.js'
import { fromText } from '../columns.js'

// Waiting jobs in groups of jobs that the same rules apply to, so that a forecast does not depend on how many there are.

export interface WaitingRequest {
  readonly queue?: string
  readonly dependency?: string
  readonly fingerprint?: string
  /** Only jobs of this tenant; null: only jobs without a tenant. If absent, the tenant does not matter. */
  readonly tenantId?: string | null
  /** Only jobs with a run that counted. */
  readonly retriesOnly?: boolean
  /** Jobs of this queue are left out. */
  readonly exceptQueue?: string
  /**
   * The maximum number of jobs to read: the first by due time, of the dependency if it is given, otherwise of each queue
   * and priority (`waitingLine`), of which `LINES_MAX` are looked at.
   */
  readonly lookAt: number
  /** The maximum number of groups; the largest are returned. */
  readonly limit: number
}

/** The smallest and the largest value in a group. */
export type Extent = readonly [min: number, max: number]

/** Jobs with the same queue, dependency, policy, delivery, attempt and error. */
export interface WaitingGroup {
  readonly queue: string
  readonly delivery: Delivery
  readonly attempt: number
  readonly dependency?: string
  /** Only for jobs with a dependency, which tenants do not share. */
  readonly tenantId?: string
  readonly policyId?: string
  readonly override?: PartialPolicy
  readonly fingerprint?: string
  readonly jobs: number
  /** The first id of the group, in the order of ids. */
  readonly sampleId: string
  /** When the jobs start if nothing holds them back: at their due time, or now. Epoch milliseconds. */
  readonly startAt: Extent
  /** The time from the first run of their generation until `startAt`; 0 for jobs that have not run. */
  readonly elapsedMs: Extent
  /** Absent for jobs without a deadline, which are in groups of their own. */
  readonly deadline?: Extent
  /** The time from `startAt` to the deadline; negative if the deadline is earlier. */
  readonly leftMs?: Extent
}

export interface WaitingGroups {
  readonly now: number
  readonly groups: readonly WaitingGroup[]
  /** Whether every matching job is in a group. */
  readonly complete: boolean
}

const LINE_LOOK_AT_MIN = 100

/** The maximum number of jobs to read for each queue and priority. It gets smaller as the number of queues grows. */
export function waitingLine(lookAt: number, queues: number): number {
  return Math.min(lookAt, Math.max(LINE_LOOK_AT_MIN, Math.floor(lookAt / Math.max(1, queues))))
}

/** Groups while they are being collected. */
export class WaitingDraft {
  readonly #groups = new Map<string, WaitingGroup>()

  add(group: WaitingGroup): void {
    const { queue, delivery, attempt, dependency, tenantId, policyId, override, fingerprint, deadline } = group
    const common = [queue, delivery, attempt, dependency, tenantId, policyId, override, fingerprint]
    const key = JSON.stringify([...common.map(each => each ?? null), deadline !== undefined])
    const known = this.#groups.get(key)
    this.#groups.set(key, known ? merged(known, group) : group)
  }

  /** The largest groups; of groups of equal size, those with the first ids. */
  largest(limit: number): readonly WaitingGroup[] {
    const all = [...this.#groups.values()]
    return all.sort((a, b) => b.jobs - a.jobs || (a.sampleId < b.sampleId ? -1 : 1)).slice(0, limit)
  }

  get size(): number {
    return this.#groups.size
  }
}

function merged(a: WaitingGroup, b: WaitingGroup): WaitingGroup {
  return {
    ...a,
    jobs: a.jobs + b.jobs,
    sampleId: [a.sampleId, b.sampleId].sort()[0]!,
    startAt: around(a.startAt, b.startAt),
    elapsedMs: around(a.elapsedMs, b.elapsedMs),
    ...(a.deadline && b.deadline && { deadline: around(a.deadline, b.deadline) }),
    ...(a.leftMs && b.leftMs && { leftMs: around(a.leftMs, b.leftMs) }),
  }
}

const around = (a: Extent, b: Extent): Extent => [Math.min(a[0], b[0]), Math.max(a[1], b[1])]

// ---------------------------------------------------------------- SQL

/** One group of an SQL store, with the columns of `waitingSql`. */
export type WaitingRow = readonly [
  queue: string,
  dependency: string | null,
  tenantId: string | null,
  policyId: string | null,
  override: string | null,
  fingerprint: string | null,
  isOnce: number | boolean,
  attempt: number,
  jobs: number,
  sampleId: string,
  startMin: number,
  startMax: number,
  elapsedMin: number,
  elapsedMax: number,
  deadlineMin: number | null,
  deadlineMax: number | null,
  leftMin: number | null,
  leftMax: number | null,
]

/** The columns of a job that a group is made of. */
export const WAITING_COLUMNS = `queue, dependency, tenant_id, policy_id, override, fingerprint, at_most_once, attempt,
  deadline, first_started_at, run_at, id`

/** Groups the jobs of a subquery with `WAITING_COLUMNS`. `start` and `sampleId` are expressions of its columns. */
export function waitingSql(jobs: string, conditions: string, start: string, sampleId: string): string {
  const extent = (value: string): string => `min(${value}), max(${value})`
  return `
    SELECT queue, dependency, owner, policy_id, override, fingerprint, at_most_once, attempt, count(*), ${sampleId},
      ${extent('start')}, ${extent('start - coalesce(first_started_at, start)')}, ${extent('deadline')},
      ${extent('deadline - start')}
    FROM (
      SELECT *, ${start} AS start, CASE WHEN dependency IS NOT NULL THEN tenant_id END AS owner FROM (${jobs}) AS line
    ) AS job
    WHERE ${conditions}
    GROUP BY queue, dependency, owner, policy_id, override, fingerprint, at_most_once, attempt, deadline IS NULL`
}

export function waitingGroup(row: WaitingRow): WaitingGroup {
  const [queue, dependency, tenantId, policyId, override, fingerprint, isOnce, attempt, jobs, sampleId, ...extents] =
    row
  const [startMin, startMax, elapsedMin, elapsedMax, deadlineMin, deadlineMax, leftMin, leftMax] = extents
  const text = (value: string | null): string | undefined => (value === null ? undefined : fromText(value))
  return {
    queue: fromText(queue),
    delivery: isOnce ? 'at-most-once' : 'at-least-once',
    attempt,
    jobs,
    sampleId,
    startAt: [startMin, startMax],
    elapsedMs: [elapsedMin, elapsedMax],
    ...present({
      dependency: text(dependency),
      tenantId: text(tenantId),
      policyId: text(policyId),
      override: override === null ? undefined : (JSON.parse(override) as PartialPolicy),
      fingerprint: text(fingerprint),
    }),
    ...(deadlineMin !== null && {
      deadline: [deadlineMin, deadlineMax!] as const,
      leftMs: [leftMin!, leftMax!] as const,
    }),
  }
}
