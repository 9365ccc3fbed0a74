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
import { lanedNames, queues } from '../file/settings.js'
import { isClosed, LANES, type Line, PLAIN } from '../rows.js'
import type { Steps } from './search.js'

// Every priority of a queue is a range of one index; only the first jobs of each range are read.

const LEVELS = Array.from({ length: PRIORITY_MAX + 1 }, (_, priority) => priority)
const inLine = (line: Line): string => `FROM jobs ${line} AND queue = ?1 AND priority = ?2`
const due = (line: Line): string =>
  `SELECT count(*), total(attempt > 0) FROM (SELECT attempt ${inLine(line)} AND run_at <= ?3 LIMIT ?4)`

/** The counts of a `CensusLine`. A dependency holds later jobs back, and a limit due jobs in lanes. */
function looked(line: Line, range: '<=' | '>'): string {
  const isDueHeld = line === LANES ? isClosed('?2') : 'false'
  return `
    (SELECT json_array(count(*), total(attempt > 0 AND NOT held), total(held)) FROM (
      SELECT attempt, ${range === '>' ? 'pass IS NOT NULL' : isDueHeld} AS held FROM jobs ${line}
      AND queue = asked.value AND priority = level.value AND run_at ${range} ?2 LIMIT ?3))`
}

const waitingIn = (line: Line): string => `
  SELECT asked.value, ${looked(line, '<=')}, ${looked(line, '>')}
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
  const laned = await steps(lanedNames)
  const inLanes = names.filter(({ queue }) => laned.has(toText(queue)))
  for (let from = 0; from < names.length; from += QUEUES_AT_ONCE) {
    const some = names.slice(from, from + QUEUES_AT_ONCE)
    await steps(db => addWaiting(db, some, PLAIN, most, now))
  }
  for (let from = 0; from < inLanes.length; from += QUEUES_AT_ONCE) {
    const some = inLanes.slice(from, from + QUEUES_AT_ONCE)
    await steps(db => addWaiting(db, some, LANES, most, now))
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

function addWaiting(db: Connection, drafts: readonly CensusDraft[], line: Line, most: number, now: number): void {
  const byName = new Map(drafts.map(draft => [toText(draft.queue), draft]))
  const rows = db.all<[queue: string, due: string, later: string]>(
    waitingIn(line),
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

const coming = (line: Line): string => `
  SELECT CAST((run_at - ?3) * ?5 / ?4 AS INTEGER), iif(pass IS NOT NULL, 'blocked', iif(attempt > 0, 'retrying', 'scheduled')),
    count(*)
  FROM (SELECT run_at, attempt, pass ${inLine(line)} AND run_at > ?3 AND run_at < ?3 + ?4 ORDER BY run_at LIMIT ?6)
  GROUP BY 1, 2`
const beyond = (line: Line): string => `SELECT count(*) FROM (SELECT 1 ${inLine(line)} AND run_at >= ?3 LIMIT ?4)`

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
  const laned = await steps(lanedNames)
  for (const { name } of await recordsOf(steps, queue === undefined ? queue : [queue])) {
    await steps(db => addLines(db, draft, toText(name), PLAIN, request, now))
    if (laned.has(toText(name))) await steps(db => addLines(db, draft, toText(name), LANES, request, now))
  }
  const { retrying, scheduled, blocked, left, dueLeft } = draft
  const complete = left >= 0 && dueLeft > 0
  const counts = { due: draft.due.value, beyond: countOf(draft.beyond, lookAt) }
  return { from: now, retrying, scheduled, blocked, ...counts, complete }
}

function addLines(
  db: Connection,
  draft: WaveDraft,
  queue: string,
  line: Line,
  request: WaveRequest,
  now: number,
): void {
  const { windowMs, buckets, lookAt } = request
  for (const level of LEVELS) {
    if (draft.left >= 0) {
      const values = [queue, level, now, windowMs, buckets, draft.left + 1] as const
      for (const [bucket, phase, count] of db.all<[number, ComingPhase, number]>(coming(line), ...values)) {
        draft[phase][bucket]! += count
        draft.left -= count
      }
    }
    if (draft.dueLeft > 0) {
      const [looked, again] = db.get<[number, number]>(due(line), queue, level, now, draft.dueLeft)!
      draft.due.value += again
      draft.dueLeft -= looked
    }
    const room = lookAt + 1 - draft.beyond.value
    if (room > 0) draft.beyond.value += db.get<[number]>(beyond(line), queue, level, now + windowMs, room)![0]
  }
}
