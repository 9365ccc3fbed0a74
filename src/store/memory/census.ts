import { isHeld, PRIORITY_MAX } from '../../core/job/job.js'
import { byBytes } from '../columns.js'
import {
  addLine,
  type CensusDraft,
  type CensusRequest,
  censusDraft,
  censusOf,
  countOf,
  lineCap,
  nothing,
  type QueueCensus,
  type Wave,
  type WaveRequest,
} from '../reads/census.js'
import { isHeldBack } from './partitions.js'
import type { MemoryTables, Row } from './tables.js'

export function census(tables: MemoryTables, request: CensusRequest, now: number): readonly QueueCensus[] {
  const { queues = tables.queues.keys(), cap } = request
  const names = [...new Set(queues)].filter(name => tables.queues.has(name)).sort(byBytes)
  const drafts = new Map(names.map(name => [name, censusDraft(tables.queues.get(name)!)]))
  const most = lineCap(cap, names.length)
  for (const draft of drafts.values()) {
    for (const line of linesOf(tables, draft.queue)) {
      for (const isDue of [true, false]) {
        const rows = line.filter(({ job }) => job.runAt <= now === isDue).slice(0, most + 1)
        const isBack = ({ job }: Row): boolean => (isDue ? isHeldBack(tables, job, now) : isHeld(job, now))
        const held = rows.filter(isBack).length
        const again = rows.filter(row => isAgain(row) && !isBack(row)).length
        addLine(draft, { isDue, looked: rows.length, again, held }, most)
      }
    }
  }
  for (const state of ['running', 'dead'] as const) {
    const rows = [...tables.rows.values()].filter(({ job }) => job.state === state)
    if (state === 'dead') rows.sort((a, b) => b.job.finishedAt! - a.job.finishedAt!)
    addState(drafts, state, rows, 2 * cap)
  }
  return [...drafts.values()].map(draft => censusOf(draft, cap))
}

function addState(
  drafts: ReadonlyMap<string, CensusDraft>,
  state: 'running' | 'dead',
  rows: readonly Row[],
  lookAt: number,
): void {
  for (const { job } of rows.slice(0, lookAt)) {
    const draft = drafts.get(job.queue)
    if (draft) draft[state].value += 1
  }
  if (rows.length > lookAt) for (const draft of drafts.values()) draft[state].isCut = true
}

export function wave(tables: MemoryTables, { queue, windowMs, buckets, lookAt }: WaveRequest, now: number): Wave {
  const names = [...tables.queues.keys()].filter(name => queue === undefined || name === queue)
  const waiting = names.flatMap(name => linesOf(tables, name).flat())
  const retrying = Array.from({ length: buckets }, () => 0)
  const scheduled = Array.from({ length: buckets }, () => 0)
  const blocked = Array.from({ length: buckets }, () => 0)
  const coming = waiting.filter(({ job }) => job.runAt > now && job.runAt < now + windowMs)
  for (const row of coming.slice(0, lookAt)) {
    const bucket = Math.floor(((row.job.runAt - now) * buckets) / windowMs)
    const all = isHeld(row.job, now) ? blocked : isAgain(row) ? retrying : scheduled
    all[bucket]! += 1
  }
  const due = waiting.filter(({ job }) => job.runAt <= now).slice(0, lookAt)
  const beyond = { ...nothing(), value: waiting.filter(({ job }) => job.runAt >= now + windowMs).length }
  return {
    from: now,
    retrying,
    scheduled,
    blocked,
    due: due.filter(isAgain).length,
    beyond: countOf(beyond, lookAt),
    complete: coming.length <= lookAt && due.length < lookAt,
  }
}

const isAgain = ({ job }: Row): boolean => job.attempt > 0

/** The waiting jobs of a queue by priority, each list sorted by due time. */
function linesOf(tables: MemoryTables, queue: string): readonly (readonly Row[])[] {
  return Array.from({ length: PRIORITY_MAX + 1 }, (_, priority) => tables.line(queue, priority).rows())
}
