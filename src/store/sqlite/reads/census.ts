import { PRIORITY_MAX } from '../../../core/job/job.js'
import { fromText, toText } from '../../columns.js'
import {
  addLine,
  type CensusDraft,
  type CensusRequest,
  censusDraft,
  censusOf,
  countOf,
  type Found,
  lineCap,
  nothing,
  type QueueCensus,
  type Wave,
  type WaveRequest,
} from '../../reads/census.js'
import type { QueueRecord } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { queues } from '../file/settings.js'
import type { Steps } from './search.js'

// Every priority of a queue is a range of one index; only the first jobs of each range are read.

const LINE = `FROM jobs INDEXED BY jobs_waiting WHERE state = 'waiting' AND queue = ?1 AND priority = ?2`
const LEVELS = Array.from({ length: PRIORITY_MAX + 1 }, (_, priority) => priority)
const DUE = `SELECT count(*), total(attempt > 0) FROM (SELECT attempt ${LINE} AND run_at <= ?3 LIMIT ?4)`

/** The counts of a `CensusLine`. Only a later job can be held back. */
const looked = (range: '<=' | '>'): string => `
  (SELECT json_array(count(*), total(attempt > 0 AND NOT held), total(held)) FROM (
    SELECT attempt, ${range === '>' ? 'pass IS NOT NULL' : 'false'} AS held FROM jobs INDEXED BY jobs_waiting
    WHERE state = 'waiting' AND queue = asked.value AND priority = level.value AND run_at ${range} ?2 LIMIT ?3))`
const WAITING = `
  SELECT asked.value, ${looked('<=')}, ${looked('>')}
  FROM json_each(?1) AS asked, json_each('${JSON.stringify(LEVELS)}') AS level`
/** The number of queues that one statement counts, which blocks the process for a few milliseconds. */
const QUEUES_AT_ONCE = 100

const RUNNING = `INDEXED BY jobs_running WHERE state = 'running'`
const DEAD = `INDEXED BY jobs_ended
  WHERE finished_at IS NOT NULL AND state <> 'succeeded' AND state = 'dead' ORDER BY finished_at DESC`

export async function census(
  steps: Steps,
  { queues: asked, cap }: CensusRequest,
  now: number,
): Promise<readonly QueueCensus[]> {
  const names = (await recordsOf(steps, asked)).map(censusDraft)
  const most = lineCap(cap, names.length)
  for (let from = 0; from < names.length; from += QUEUES_AT_ONCE) {
    const some = names.slice(from, from + QUEUES_AT_ONCE)
    await steps(db => addWaiting(db, some, most, now))
  }
  await steps(db => addState(db, names, 'running', RUNNING, 2 * cap))
  await steps(db => addState(db, names, 'dead', DEAD, 2 * cap))
  return names.map(draft => censusOf(draft, cap))
}

async function recordsOf(steps: Steps, asked: readonly string[] | undefined): Promise<readonly QueueRecord[]> {
  const records = await steps(queues)
  if (asked === undefined) return records
  const wanted = new Set(asked)
  return records.filter(({ name }) => wanted.has(name))
}

function addWaiting(db: Connection, drafts: readonly CensusDraft[], most: number, now: number): void {
  const byName = new Map(drafts.map(draft => [toText(draft.queue), draft]))
  const rows = db.all<[queue: string, due: string, later: string]>(
    WAITING,
    JSON.stringify([...byName.keys()]),
    now,
    most + 1,
  )
  for (const [queue, due, later] of rows) {
    for (const [isDue, counts] of [[true, due] as const, [false, later] as const]) {
      const [looked, again, held] = JSON.parse(counts) as [number, number, number]
      addLine(byName.get(queue)!, { isDue, looked, again, held }, most)
    }
  }
}

function addState(
  db: Connection,
  drafts: readonly CensusDraft[],
  state: 'running' | 'dead',
  where: string,
  lookAt: number,
): void {
  const sql = `SELECT queue, count(*) FROM (SELECT queue FROM jobs ${where} LIMIT ?) GROUP BY queue`
  const rows = db.all<[queue: string, count: number]>(sql, lookAt + 1)
  const counts = new Map(rows.map(([queue, count]) => [fromText(queue), count]))
  const isCut = rows.reduce((sum, [, count]) => sum + count, 0) > lookAt
  for (const draft of drafts) draft[state] = { value: counts.get(draft.queue) ?? 0, isCut }
}

const COMING = `
  SELECT CAST((run_at - ?3) * ?5 / ?4 AS INTEGER), iif(pass IS NOT NULL, 'blocked', iif(attempt > 0, 'retrying', 'scheduled')),
    count(*)
  FROM (SELECT run_at, attempt, pass ${LINE} AND run_at > ?3 AND run_at < ?3 + ?4 ORDER BY run_at LIMIT ?6)
  GROUP BY 1, 2`
const BEYOND = `SELECT count(*) FROM (SELECT 1 ${LINE} AND run_at >= ?3 LIMIT ?4)`

type ComingPhase = 'retrying' | 'scheduled' | 'blocked'

interface WaveDraft extends Readonly<Record<ComingPhase, number[]>> {
  readonly due: Found
  readonly beyond: Found
  /** The number of jobs that may still be read: of later jobs, and of due jobs. */
  left: number
  dueLeft: number
}

export async function wave(steps: Steps, request: WaveRequest, now: number): Promise<Wave> {
  const { queue, buckets, lookAt } = request
  const draft: WaveDraft = {
    retrying: Array.from({ length: buckets }, () => 0),
    scheduled: Array.from({ length: buckets }, () => 0),
    blocked: Array.from({ length: buckets }, () => 0),
    due: nothing(),
    beyond: nothing(),
    left: lookAt,
    dueLeft: lookAt,
  }
  for (const { name } of await recordsOf(steps, queue === undefined ? queue : [queue]))
    await steps(db => addLines(db, draft, toText(name), request, now))
  const { retrying, scheduled, blocked, due, beyond, left, dueLeft } = draft
  const complete = left >= 0 && dueLeft > 0
  return { from: now, retrying, scheduled, blocked, due: due.value, beyond: countOf(beyond, lookAt), complete }
}

function addLines(db: Connection, draft: WaveDraft, queue: string, request: WaveRequest, now: number): void {
  const { windowMs, buckets, lookAt } = request
  for (const level of LEVELS) {
    if (draft.left >= 0) {
      const line = [queue, level, now, windowMs, buckets, draft.left + 1] as const
      for (const [bucket, phase, count] of db.all<[number, ComingPhase, number]>(COMING, ...line)) {
        draft[phase][bucket]! += count
        draft.left -= count
      }
    }
    if (draft.dueLeft > 0) {
      const [looked, again] = db.get<[number, number]>(DUE, queue, level, now, draft.dueLeft)!
      draft.due.value += again
      draft.dueLeft -= looked
    }
    const room = lookAt + 1 - draft.beyond.value
    if (room > 0) draft.beyond.value += db.get<[number]>(BEYOND, queue, level, now + windowMs, room)![0]
  }
}
