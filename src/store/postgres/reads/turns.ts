import type { PartitionTurns, QueueTurns } from '../../../core/partition/integrity.js'
import { partitionBounds, type QueueLimits } from '../../../core/partition/limits.js'
import { fromText } from '../../columns.js'
import type { AuditDraft } from '../../integrity.js'
import { texts } from '../arrays.js'
import type { Ask } from '../connection/pool.js'
import { stateOf } from '../lanes/state.js'

// The part of an integrity check that is about limits.

/** The number of partitions read at once. */
const PAGE = 500

/** No claim looks for jobs in lanes of a queue that is not marked, unless a row or a note of a lane leads to them. */
const OUTSIDE = `
  SELECT job.id, q.name FROM @queues q, LATERAL (
    SELECT id FROM @jobs WHERE state = 'waiting' AND lane IS NOT NULL AND queue = q.name LIMIT 1
  ) AS job
  WHERE NOT q.laned AND NOT EXISTS (SELECT 1 FROM @partitions p WHERE p.queue = q.name)
    AND NOT EXISTS (SELECT 1 FROM @partition_notes n WHERE n.queue = q.name)`

const running = (lane: string): string => `
  SELECT count(*) AS count, (array_agg(id ORDER BY started_at DESC))[1] AS id, max(started_at) AS started_at
  FROM @jobs WHERE state = 'running' AND lane IS NOT NULL AND queue = ${lane}`

const QUEUES = `
  SELECT q.name, q.limits, q.open_at, q.turn, EXISTS (SELECT 1 FROM @partition_notes n WHERE n.queue = q.name),
    now.count, now.id, now.started_at
  FROM @queues q, LATERAL (${running('q.name')}) AS now WHERE q.limits IS NOT NULL`

type RunningColumns = [running: number, newestId: string | null, startedAt: number | null]
type QueueRow = [
  name: string,
  limits: string,
  openAt: number | null,
  turn: string | null,
  noted: boolean,
  ...RunningColumns,
]

export async function auditPartitions(ask: Ask, draft: AuditDraft, now: number): Promise<void> {
  for (const [id, queue] of await ask<[id: string, queue: string]>(OUTSIDE)) draft.outside(id, fromText(queue))
  for (const [name, limits, openAt, turn, isNoted, ...counted] of await ask<QueueRow>(QUEUES)) {
    const queue: QueueTurns = {
      queue: fromText(name),
      limits: JSON.parse(limits) as QueueLimits,
      state: stateOf(openAt, turn),
      isNoted,
      ...runningOf(counted),
    }
    draft.limited(queue)
    await readPartitions(ask, draft, queue, name, now)
  }
}

const NAMES = `
  SELECT name FROM (
    (SELECT name FROM @partitions WHERE queue = $1 AND ($2::text IS NULL OR name > $2) ORDER BY name LIMIT $3)
    UNION
    (SELECT DISTINCT lane FROM @jobs
      WHERE state IN ('waiting', 'running') AND lane IS NOT NULL AND queue = $1 AND ($2::text IS NULL OR lane > $2)
      ORDER BY lane LIMIT $3)
  ) AS known ORDER BY name LIMIT $3`

const WAITS = `state = 'waiting' AND lane IS NOT NULL AND queue = $1 AND lane = asked.name
  AND (deadline IS NULL OR deadline > $3)`

/** `$4`: the queue is ordered, and its oldest jobs come first. */
const PARTITIONS = `
  SELECT asked.name, p.open_at, p.body,
    EXISTS (SELECT 1 FROM @partition_notes n WHERE n.queue = $1 AND n.name = asked.name),
    EXISTS (
      SELECT 1 FROM @jobs j WHERE j.state = 'dead' AND j.lane IS NOT NULL AND j.reason IS DISTINCT FROM 'discarded'
        AND j.queue = $1 AND j.lane = asked.name
    ), first.id, first.run_at, now.count, now.id, now.started_at
  FROM unnest($2::text[]) AS asked (name) LEFT JOIN @partitions p ON p.queue = $1 AND p.name = asked.name
    LEFT JOIN LATERAL (
      (SELECT id, run_at FROM @jobs WHERE ${WAITS} AND $4::boolean ORDER BY pk LIMIT 1)
      UNION ALL
      (SELECT id, run_at FROM @jobs WHERE ${WAITS} AND NOT $4::boolean ORDER BY run_at LIMIT 1)
    ) AS first ON true,
    LATERAL (${running('$1 AND lane = asked.name')}) AS now`

type PartitionRow = [
  name: string,
  openAt: number | null,
  body: string | null,
  noted: boolean,
  hasDead: boolean,
  firstId: string | null,
  runAt: number,
  ...RunningColumns,
]

async function readPartitions(
  ask: Ask,
  draft: AuditDraft,
  queue: QueueTurns,
  name: string,
  now: number,
): Promise<void> {
  const isOrdered = queue.limits.partitions?.order === 'fifo'
  for (let after: string | null = null; ; ) {
    const names: [string][] = await ask<[name: string]>(NAMES, name, after, PAGE)
    const lanes = texts(names.map(([lane]) => fromText(lane)))
    const rows = await ask<PartitionRow>(PARTITIONS, name, lanes, now, isOrdered)
    for (const row of rows) draft.partition(queue, turnsOf(row, queue.limits))
    if (names.length < PAGE) return
    after = names.at(-1)![0]
  }
}

function turnsOf(
  [lane, openAt, body, isNoted, hasDead, id, runAt, ...counted]: PartitionRow,
  limits: QueueLimits,
): PartitionTurns {
  const name = fromText(lane)
  return {
    name,
    state: stateOf(openAt, body),
    isNoted,
    isStopped: hasDead && partitionBounds(limits, name).stopsOnDead,
    ...(id !== null && { first: { id, runAt } }),
    ...runningOf(counted),
  }
}

function runningOf([running, id, startedAt]: RunningColumns): Pick<QueueTurns, 'running' | 'newest'> {
  return id === null ? { running } : { running, newest: { id, startedAt: startedAt ?? 0 } }
}
