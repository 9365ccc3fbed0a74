import { createHash } from 'node:crypto'
import { fromText, toText } from '../../columns.js'
import type { Claim, Claimed, ClaimRequest } from '../../store.js'
import { numbers, texts } from '../arrays.js'
import type { Database, Row, Statement } from '../connection/pool.js'
import type { SharedCommit } from '../connection/shared-commit.js'
import type { KnownLanes } from '../lanes/known.js'
import { FACT_COLUMNS, FACT_COUNT, type FactRow, HELD_COLUMNS, readFacts, readHeld, STARTED_AT } from '../rows.js'
import type { Watermark, Watermarks } from './claim-watermark.js'

/** Reads the due jobs of one queue and priority from the index, optionally after a position from the last claim. */
const lineText = (kind: Kind): string => `
  SELECT ctid AS spot, run_at, pk FROM @jobs
  WHERE state = 'waiting' AND lane IS NULL AND queue = open.name AND priority = level.priority
    AND run_at <= clock.now ${CONDITIONS[kind]} AND (deadline IS NULL OR deadline > clock.now)
  ORDER BY run_at, pk LIMIT $6 FOR UPDATE SKIP LOCKED`

const PLACE = '(open.place - 1) * 10 + level.priority + 1'
const WATERMARKED = `AND (run_at, pk) >
  (coalesce(($9::bigint[])[${PLACE}], ${Number.MIN_SAFE_INTEGER}), coalesce(($10::bigint[])[${PLACE}], 0))`

type Kind = 'all' | 'onward' | 'named'
const CONDITIONS: Readonly<Record<Kind, string>> = {
  all: '',
  onward: WATERMARKED,
  named: 'AND (name = ANY ($9::text[])) = $10::boolean',
}

/**
 * With one queue, the claim locks exactly the rows it takes. With several queues, it locks up to the limit in each of
 * them and merges them; the commit releases the rows that were not taken.
 */
const MERGED = 'ORDER BY line.run_at, line.pk LIMIT $6'

const CLOCK = 'clock AS MATERIALIZED (SELECT @now_ms() AS now)'
/** Jobs of queues with limits wait for their turn in lanes: see `lanes/turns.ts`. */
const OPEN = `
  open AS MATERIALIZED (
    SELECT name, place::integer FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
    WHERE NOT EXISTS (
      SELECT 1 FROM @queues q WHERE q.name = asked.name AND (q.paused OR q.limits IS NOT NULL))
  )`

/** The same rule as `beginsWithClaim`. Nearly always $8 is NULL, and nothing else is computed. */
const BEGINS = `$8::text[] IS NOT NULL AND run = 0 AND NOT at_most_once AND override IS NULL
  AND (queue || ' ' || name) = ANY ($8::text[])`

/** What a claim changes when it starts jobs at this time; `startValues` are its parameters. */
export const start = (at: string): string => `
    state = 'running', run = run + 1, attempt = attempt + 1, begun = ${BEGINS}, token = $2,
    worker_id = $3, lease_until = (SELECT now FROM clock) + $4::bigint, lease_ms = $4::bigint,
    started_at = ${at}, first_started_at = coalesce(first_started_at, ${at}),
    policy_id = coalesce((SELECT $5::jsonb) ->> (queue || ' ' || name), policy_id, (SELECT $5::jsonb) ->> queue)`

/**
 * Claims in one statement. It walks down the priorities and takes the due jobs of each, so that neither ended jobs nor
 * jobs scheduled for later cost anything. A LATERAL join runs in the order of its dependencies with every plan, and
 * stops at the limit; MATERIALIZED makes it run once.
 */
const claimText = (merge: string, kind: Kind): string => `
  WITH ${CLOCK},
  held AS MATERIALIZED (SELECT 1 FROM @jobs WHERE $7::boolean AND state = 'running' AND token = $2 LIMIT 1),
  ${OPEN},
  due AS MATERIALIZED (
    SELECT waiting.spot
    FROM clock, generate_series(9, 0, -1) AS level (priority),
      LATERAL (SELECT line.spot FROM open, LATERAL (${lineText(kind)}) AS line ${merge}) AS waiting
    WHERE NOT EXISTS (SELECT 1 FROM held)
    LIMIT $6
  )
  UPDATE @jobs SET ${start('(SELECT now FROM clock)')}
  WHERE ctid = ANY (ARRAY(SELECT spot FROM due))
  RETURNING ${FACT_COLUMNS}, pk`

const claimTexts = (merge: string): Readonly<Record<Kind, string>> => ({
  all: claimText(merge, 'all'),
  onward: claimText(merge, 'onward'),
  named: claimText(merge, 'named'),
})
const CLAIMS = claimTexts('')
const MERGED_CLAIMS = claimTexts(MERGED)

/**
 * Reads the next due time before claiming, so that it can only be too early, never too late; and which of the queues
 * have jobs in lanes. A note without limits is of a job that got its lane while the limits were removed.
 */
const PROSPECT = `
  WITH ${CLOCK}, ${OPEN}
  SELECT now, EXISTS (SELECT 1 FROM @jobs WHERE $2::boolean AND state = 'running' AND token = $3), (
    SELECT min(line.run_at)
    FROM open, generate_series(0, 9) AS level (priority),
      LATERAL (
        SELECT run_at FROM @jobs
        WHERE state = 'waiting' AND lane IS NULL AND queue = open.name AND priority = level.priority
          AND run_at > clock.now
        ORDER BY run_at LIMIT 1
      ) AS line
  ), (
    SELECT json_agg(json_build_array(asked.name, q.limits IS NOT NULL))::text
    FROM unnest($1::text[]) AS asked (name) LEFT JOIN @queues q ON q.name = asked.name
    WHERE q.laned OR EXISTS (SELECT 1 FROM @partition_notes n WHERE n.queue = asked.name)
  )
  FROM clock`

const HELD = `
  SELECT ${HELD_COLUMNS} FROM @jobs WHERE state = 'running' AND token = $1 ORDER BY priority DESC, run_at, pk`

type ProspectRow = [now: number, held: boolean, nextDueAt: number | null, laned: string | null]

/** What a claim has taken. */
export interface Taken {
  readonly now: number
  readonly rows: readonly FactRow[]
  /** Only valid if fewer jobs were taken than requested; null if no other job waits. */
  readonly nextDueAt: number | null
  /** The token of the claim holds jobs already, so none were taken. */
  readonly held: boolean
}

/** What claims of a process remember. */
export interface ClaimMemory {
  readonly watermarks: Watermarks
  readonly lanes: KnownLanes
}

/** How many jobs to take, and whether the token may hold jobs of an earlier try of this claim. */
export interface Room {
  readonly limit: number
  readonly mayBeHeld: boolean
}

/** Takes jobs that are in no lane. */
export async function takePlain(
  db: Database,
  { watermarks, lanes }: ClaimMemory,
  request: ClaimRequest,
  { limit, mayBeHeld }: Room,
): Promise<Taken> {
  const from = limit > 0 && !request.names ? watermarks.get() : []
  const onward = from.length > 0 ? await takeOnward(db, request, { limit, mayBeHeld }, from) : []
  if (from.length > 0 && onward.length === limit) {
    watermarks.raise(endsOf(onward))
    return { now: startedAt(onward[0]!), rows: onward, nextDueAt: null, held: false }
  }
  // Only a scan from the beginning can tell that no more jobs are due.
  const sentAt = db.clock.now()
  const room = { limit: limit - onward.length, mayBeHeld: mayBeHeld && onward.length === 0 }
  const [, ...rows] = await db.write('control', statementsOf(request, room))
  const taken = readTaken(request, lanes, rows)
  remember(watermarks, request, taken, room, db.clock.now() - sentAt)
  return { ...taken, rows: [...onward, ...taken.rows] }
}

/**
 * Claims in the transaction of an enqueue of this process. Returns undefined if there is no such enqueue or the
 * transaction failed; the caller can then repeat the claim with the same token.
 */
export async function takeAlong(
  db: Database,
  { watermarks, lanes }: ClaimMemory,
  request: ClaimRequest,
  sharedCommit: SharedCommit | undefined,
): Promise<Taken | undefined> {
  const sentAt = db.clock.now()
  const room = { limit: request.limit, mayBeHeld: true }
  const joined = watermarks.isQuick ? sharedCommit?.join(statementsOf(request, room)) : undefined
  if (!joined) return undefined
  try {
    const taken = readTaken(request, lanes, (await joined).slice(1))
    remember(watermarks, request, taken, room, db.clock.now() - sentAt)
    return taken
  } catch {
    return undefined
  }
}

/** Remembers where a scan from the beginning ended. */
function remember(
  watermarks: Watermarks,
  { names }: ClaimRequest,
  { rows, held }: Taken,
  { limit }: Room,
  tookMs: number,
): void {
  watermarks.took(tookMs)
  if (names || held) return
  watermarks.reset()
  if (rows.length === limit) watermarks.raise(endsOf(rows), tookMs)
}

/** Scans from the beginning, after taking the lock of the token. */
function statementsOf(request: ClaimRequest, room: Room): Statement[] {
  const queues = [...new Set(request.queues)]
  const { names, token } = request
  const { mayBeHeld } = room
  const values = [...claimValues(request, queues, room), ...(names ? [texts(names.list), !names.isExcluded] : [])]
  const sql = (queues.length === 1 ? CLAIMS : MERGED_CLAIMS)[names ? 'named' : 'all']
  return [
    lockFor(token),
    { sql: PROSPECT, values: [texts(queues), mayBeHeld, toText(token)], isKept: true },
    { sql, values, isKept: true },
  ]
}

function readTaken({ queues }: ClaimRequest, lanes: KnownLanes, [prospect, taken]: readonly Row[][]): Taken {
  const [now, held, nextDueAt, laned] = prospect![0] as unknown as ProspectRow
  const rows = taken as unknown as FactRow[]
  const found = laned === null ? [] : (JSON.parse(laned) as [name: string, isLimited: boolean][])
  lanes.learn(
    queues,
    found.map(([name, isLimited]) => ({ name: fromText(name), isLimited })),
  )
  return { now: rows[0] ? startedAt(rows[0]) : now, rows, held, nextDueAt }
}

export const startedAt = (row: FactRow): number => row[STARTED_AT] as number
const pkOf = (row: FactRow): number => row[FACT_COUNT] as number

/** Continues where the last claims ended; it can't tell whether more jobs are due. */
async function takeOnward(
  db: Database,
  request: ClaimRequest,
  room: Room,
  watermarks: readonly Watermark[],
): Promise<readonly FactRow[]> {
  const queues = [...new Set(request.queues)]
  const places = new Map(queues.map((queue, index) => [queue, index * 10]))
  const lines: (Watermark | undefined)[] = Array.from({ length: queues.length * 10 })
  for (const watermark of watermarks) {
    const place = places.get(watermark.queue)
    if (place !== undefined) lines[place + watermark.priority] = watermark
  }
  const values = [
    ...claimValues(request, queues, room),
    numbers(lines.map(line => line?.runAt)),
    numbers(lines.map(line => line?.pk)),
  ]
  const sql = (queues.length === 1 ? CLAIMS : MERGED_CLAIMS).onward
  const [, rows] = await db.write('control', [lockFor(request.token), { sql, values, isKept: true }])
  return rows as unknown as FactRow[]
}

function claimValues(request: ClaimRequest, queues: readonly string[], { limit, mayBeHeld }: Room): unknown[] {
  return startValues(request, texts(queues), limit, mayBeHeld)
}

/** The parameters of `start`, and the first, sixth and seventh of the statement that uses it. */
export function startValues(request: ClaimRequest, first: unknown, sixth: unknown, seventh: unknown): unknown[] {
  const { token, workerId, leaseMs, policyIds, begins } = request
  const lease = [toText(token), toText(workerId), Math.ceil(leaseMs)]
  return [first, ...lease, policies(policyIds), sixth, seventh, begins ? texts(begins) : null]
}

/** The last job of each queue and priority. */
function endsOf(rows: readonly FactRow[]): Watermark[] {
  const ends = new Map<string, Watermark>()
  for (const row of rows) {
    const [queue, priority, runAt, pk] = [fromText(row[2]), row[3], row[4], pkOf(row)]
    ends.set(`${priority} ${queue}`, { queue, priority, runAt, pk })
  }
  return [...ends.values()]
}

export function answer(now: number, rows: readonly FactRow[], request: ClaimRequest): Claim {
  const sorted = [...rows].sort((a, b) => b[3] - a[3] || a[4] - b[4] || pkOf(a) - pkOf(b))
  return { now, jobs: sorted.map(row => claimed(row, request)) }
}

/**
 * A claim whose answer was lost may still be in progress when it is repeated. The lock makes the repeated claim wait
 * for the first one, so that it finds the same jobs.
 */
export function lockFor(token: string): Statement {
  const number = createHash('sha256').update(token).digest().readBigInt64BE()
  return { sql: 'SELECT 1 FROM pg_advisory_xact_lock($1::bigint)', values: [String(number)], isKept: true }
}

/** JSON in the database can't contain NUL; a name with NUL has no policy of its own. */
function policies(policyIds: ClaimRequest['policyIds']): string {
  const known = Object.entries(policyIds).filter(([name]) => name === toText(name))
  return JSON.stringify(Object.fromEntries(known.map(([name, id]) => [name, toText(id)])))
}

function claimed(row: FactRow, { token, workerId, leaseMs }: ClaimRequest): Claimed {
  const facts = readFacts(row)
  return Object.assign(facts, { token, workerId, leaseUntil: startedAt(row) + Math.ceil(leaseMs) })
}

export async function heldBy(db: Database, token: string): Promise<Claimed[]> {
  return (await db.read<FactRow>(HELD, toText(token))).map(readHeld)
}

export async function held(db: Database, token: string): Promise<Claim> {
  const statements = [lockFor(token), { sql: 'SELECT @now_ms()' }, { sql: HELD, values: [toText(token)] }]
  const [, clock, rows] = await db.write('control', statements)
  return { now: clock![0]![0] as number, jobs: (rows as unknown as FactRow[]).map(readHeld) }
}
