import { fromText, toText } from '../../columns.js'
import {
  addLine,
  type CensusDraft,
  type CensusRequest,
  censusDraft,
  censusOf,
  countOf,
  type Found,
  LINES_MAX,
  lineCap,
  nothing,
  type QueueCensus,
  type Wave,
  type WaveRequest,
} from '../../reads/census.js'
import type { QueueRecord } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { queues } from '../file/settings.js'
import { type Line as Index, isClosed, LANES } from '../rows.js'
import { type IndexedLine, indexesOf, LINES_OF, lines, linesAfter, START } from './lines.js'
import type { Steps } from './search.js'

// Only the first jobs of each line are read.

/** The number of entries of an index to count in all: 100,000 take about 20 ms. */
const LOOK_AT = 100_000

const inLine = (index: Index): string => `FROM jobs ${index} AND queue = ?1 AND priority = ?2`
const due = (index: Index): string =>
  `SELECT count(*), total(attempt > 0) FROM (SELECT attempt ${inLine(index)} AND run_at <= ?3 LIMIT ?4)`

/** The counts of a `CensusLine`. A dependency holds later jobs back, and a limit due jobs in lanes. */
function looked(index: Index, range: '<=' | '>'): string {
  const isDueHeld = index === LANES ? isClosed('?3') : 'false'
  return `
    (SELECT json_array(count(*), total(attempt > 0 AND NOT held), total(held)) FROM (
      SELECT attempt, ${range === '>' ? 'pass IS NOT NULL' : isDueHeld} AS held FROM jobs ${index}
      AND queue = line.queue AND priority = line.priority AND run_at ${range} ?3 LIMIT ?4))`
}

const counted = (index: Index): string =>
  `SELECT line.queue, line.priority, ${looked(index, '<=')}, ${looked(index, '>')} FROM line`
type CountedRow = [queue: string, priority: number, due: string, later: string]
/** The number of lines and of queues that one statement counts, which blocks the process for a few milliseconds. */
const LINES_AT_ONCE = 1_000
const QUEUES_AT_ONCE = 100
const everyIn = (index: Index): string => `${linesAfter(index, LINES_AT_ONCE)} ${counted(index)}`
const askedIn = (index: Index): string => `${LINES_OF} ${counted(index)}`

const RUNNING = `INDEXED BY jobs_running WHERE state = 'running'`
const DEAD = `INDEXED BY jobs_ended
  WHERE finished_at IS NOT NULL AND state <> 'succeeded' AND state = 'dead' ORDER BY finished_at DESC`

export async function census(
  steps: Steps,
  { queues: asked, cap }: CensusRequest,
  now: number,
): Promise<readonly QueueCensus[]> {
  const drafts = (await recordsOf(steps, asked)).map(censusDraft)
  const most = lineCap(cap, drafts.length, LOOK_AT)
  const byName = new Map(drafts.map(draft => [toText(draft.queue), draft]))
  const add = (rows: readonly CountedRow[]): void => addWaiting(byName, rows, most)
  if (asked === undefined) await everyLine(steps, now, most, add)
  else await linesOf(steps, [...byName.keys()], now, most, add)
  await steps(db => addState(db, drafts, 'running', RUNNING, 2 * cap))
  await steps(db => addState(db, drafts, 'dead', DEAD, Math.max(2 * cap, LOOK_AT)))
  return drafts.map(draft => censusOf(draft, cap))
}

type AddRows = (rows: readonly CountedRow[]) => void

/** Reads only the lines with waiting jobs, so that neither empty queues nor unused priorities cost anything. */
async function everyLine(steps: Steps, now: number, most: number, add: AddRows): Promise<void> {
  for (const index of await indexesOf(steps)) {
    for (let after = START; ; ) {
      const rows = await steps(db => db.all<CountedRow>(everyIn(index), ...after, now, most + 1))
      add(rows)
      const last = rows.at(-1)
      if (!last || rows.length < LINES_AT_ONCE) break
      after = [last[0], last[1]]
    }
  }
}

async function linesOf(steps: Steps, names: readonly string[], now: number, most: number, add: AddRows): Promise<void> {
  for (const index of await indexesOf(steps)) {
    for (let from = 0; from < names.length; from += QUEUES_AT_ONCE) {
      const some = JSON.stringify(names.slice(from, from + QUEUES_AT_ONCE))
      add(await steps(db => db.all<CountedRow>(askedIn(index), some, null, now, most + 1)))
    }
  }
}

async function recordsOf(steps: Steps, asked: readonly string[] | undefined): Promise<readonly QueueRecord[]> {
  const records = await steps(queues)
  if (asked === undefined) return records
  const wanted = new Set(asked)
  return records.filter(({ name }) => wanted.has(name))
}

function addWaiting(byName: ReadonlyMap<string, CensusDraft>, rows: readonly CountedRow[], most: number): void {
  for (const [queue, , due, later] of rows) {
    const draft = byName.get(queue)
    // It was removed, or created, between two steps.
    if (!draft) continue
    for (const [isDue, counts] of [[true, due] as const, [false, later] as const]) {
      const [looked, again, held] = JSON.parse(counts) as [number, number, number]
      addLine(draft, { isDue, looked, again, held }, most)
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

const coming = (index: Index): string => `
  SELECT CAST((run_at - ?3) * ?5 / ?4 AS INTEGER), iif(pass IS NOT NULL, 'blocked', iif(attempt > 0, 'retrying', 'scheduled')),
    count(*)
  FROM (SELECT run_at, attempt, pass ${inLine(index)} AND run_at > ?3 AND run_at < ?3 + ?4 ORDER BY run_at LIMIT ?6)
  GROUP BY 1, 2`
const beyond = (index: Index): string => `SELECT count(*) FROM (SELECT 1 ${inLine(index)} AND run_at >= ?3 LIMIT ?4)`

/** The number of lines that one step reads, with three statements each. */
const WAVE_LINES_AT_ONCE = 100

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
  const own = await lines(steps, queue === undefined ? undefined : toText(queue), LINES_MAX + 1)
  for (let from = 0; from < Math.min(own.length, LINES_MAX); from += WAVE_LINES_AT_ONCE) {
    const some = own.slice(from, Math.min(from + WAVE_LINES_AT_ONCE, LINES_MAX))
    await steps(db => {
      for (const line of some) addLineOf(db, draft, line, request, now)
    })
  }
  const { retrying, scheduled, blocked, due, beyond, left, dueLeft } = draft
  const complete = left >= 0 && dueLeft > 0 && own.length <= LINES_MAX
  return { from: now, retrying, scheduled, blocked, due: due.value, beyond: countOf(beyond, lookAt), complete }
}

function addLineOf(
  db: Connection,
  draft: WaveDraft,
  { index, line: [queue, level] }: IndexedLine,
  request: WaveRequest,
  now: number,
): void {
  const { windowMs, buckets, lookAt } = request
  if (draft.left >= 0) {
    const line = [queue, level, now, windowMs, buckets, draft.left + 1] as const
    for (const [bucket, phase, count] of db.all<[number, ComingPhase, number]>(coming(index), ...line)) {
      draft[phase][bucket]! += count
      draft.left -= count
    }
  }
  if (draft.dueLeft > 0) {
    const [looked, again] = db.get<[number, number]>(due(index), queue, level, now, draft.dueLeft)!
    draft.due.value += again
    draft.dueLeft -= looked
  }
  const room = lookAt + 1 - draft.beyond.value
  if (room > 0) draft.beyond.value += db.get<[number]>(beyond(index), queue, level, now + windowMs, room)![0]
}
