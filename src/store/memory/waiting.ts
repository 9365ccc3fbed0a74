import { type Job, PRIORITY_MAX } from '../../core/job/job.js'
import { present } from '../../core/values/present.js'
import {
  WaitingDraft,
  type WaitingGroup,
  type WaitingGroups,
  type WaitingRequest,
  waitingLine,
} from '../reads/waiting.js'
import type { MemoryTables } from './tables.js'

export function waiting(tables: MemoryTables, request: WaitingRequest, now: number): WaitingGroups {
  const { dependency, lookAt, limit } = request
  const ranges = dependency === undefined ? linesOf(tables, request) : [waitingFor(tables, dependency)]
  const most = dependency === undefined ? waitingLine(lookAt, ranges.length / (PRIORITY_MAX + 1)) : lookAt
  const groups = new WaitingDraft()
  for (const jobs of ranges) {
    for (const job of jobs.slice(0, most)) if (isWanted(job, request)) groups.add(groupOf(job, now))
  }
  const isCut = ranges.some(({ length }) => length > most)
  return { now, groups: groups.largest(limit), complete: !isCut && groups.size <= limit }
}

/** The waiting jobs of each queue and priority, by due time. */
function linesOf(tables: MemoryTables, { queue, exceptQueue }: WaitingRequest): readonly (readonly Job[])[] {
  const names = [...tables.queues.keys()].filter(
    name => (queue === undefined || name === queue) && name !== exceptQueue,
  )
  return names.flatMap(name =>
    Array.from({ length: PRIORITY_MAX + 1 }, (_, priority) =>
      tables
        .line(name, priority)
        .rows()
        .map(({ job }) => job),
    ),
  )
}

function waitingFor(tables: MemoryTables, dependency: string): readonly Job[] {
  return [...tables.rows.values()]
    .map(({ job }) => job)
    .filter(job => job.state === 'waiting' && job.dependency === dependency)
    .sort((a, b) => a.runAt - b.runAt)
}

function isWanted(job: Job, { queue, exceptQueue, fingerprint, tenantId, retriesOnly }: WaitingRequest): boolean {
  return (
    (!retriesOnly || job.attempt > 0) &&
    (queue === undefined || job.queue === queue) &&
    job.queue !== exceptQueue &&
    (fingerprint === undefined || job.fingerprint === fingerprint) &&
    (tenantId === undefined || job.tenantId === (tenantId ?? undefined))
  )
}

function groupOf(job: Job, now: number): WaitingGroup {
  const { queue, delivery, attempt, dependency, policyId, override, fingerprint, deadline } = job
  const start = Math.max(now, job.runAt)
  const elapsed = start - (job.firstStartedAt ?? start)
  return {
    queue,
    delivery,
    attempt,
    jobs: 1,
    sampleId: job.id,
    startAt: [start, start],
    elapsedMs: [elapsed, elapsed],
    ...present({ dependency, policyId, override, fingerprint }),
    ...(dependency !== undefined && present({ tenantId: job.tenantId })),
    ...(deadline !== undefined && { deadline: [deadline, deadline], leftMs: [deadline - start, deadline - start] }),
  }
}
