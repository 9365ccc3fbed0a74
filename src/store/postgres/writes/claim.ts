import { createHash } from 'node:crypto'
import { fromText, toText } from '../../columns.js'
import type { Claim, Claimed, ClaimRequest } from '../../store.js'
import { numbers, texts } from '../arrays.js'
import type { Database, Row, Statement } from '../connection/pool.js'
import type { Joint } from '../connection/shared-commit.js'
import { FACT_COLUMNS, FACT_COUNT, type FactRow, HELD_COLUMNS, readFacts, readHeld, STARTED_AT } from '../rows.js'
import type { Floor, Floors } from './claim-watermark.js'

/** Due jobs of one queue and priority, by a step into the index; perhaps on from a floor, which has a place in arrays. */
const lineText = (kind: Kind): string => `
  SELECT ctid AS spot, run_at, pk FROM @jobs
  WHERE state = 'waiting' AND queue = open.name AND priority = level.priority AND run_at <= clock.now
    ${CONDITIONS[kind]} AND (deadline IS NULL OR deadline > clock.now)
  ORDER BY run_at, pk LIMIT $6 FOR UPDATE SKIP LOCKED`

const PLACE = '(open.place - 1) * 10 + level.priority + 1'
const FLOORED = `AND (run_at, pk) >
  (coalesce(($8::bigint[])[${PLACE}], ${Number.MIN_SAFE_INTEGER}), coalesce(($9::bigint[])[${PLACE}], 0))`

type Kind = 'all' | 'floored' | 'named'
const CONDITIONS: Readonly<Record<Kind, string>> = {
  all: '',
  floored: FLOORED,
  named: 'AND (name = ANY ($8::text[])) = $9::boolean',
}

/**
 * Of one queue they come as they are, and no more are locked than are taken. Of several they are merged: up to the
 * limit of each is locked, and what is not taken is free again with the commit, a moment later.
 */
const MERGED = 'ORDER BY line.run_at, line.pk LIMIT $6'

const CLOCK = 'clock AS MATERIALIZED (SELECT @now_ms() AS now)'
const OPEN = `
  open AS MATERIALIZED (
    SELECT name, place::integer FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
    WHERE NOT EXISTS (SELECT 1 FROM @queues q WHERE q.name = asked.name AND q.paused)
  )`

/**
 * One statement. It walks down the priorities and takes the due ones of each, so that neither ended jobs nor those of
 * a higher priority that wait for their time cost anything. A LATERAL join runs in the order of what it depends on,
 * whatever plan is chosen, and stops at the limit; materialized, it runs once. What is locked stays where it is.
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
  UPDATE @jobs SET state = 'running', run = run + 1, attempt = attempt + 1, begun = false, token = $2,
    worker_id = $3, lease_until = (SELECT now FROM clock) + $4::bigint, lease_ms = $4::bigint,
    started_at = (SELECT now FROM clock), first_started_at = coalesce(first_started_at, (SELECT now FROM clock)),
    policy_id = coalesce((SELECT $5::jsonb) ->> (queue || ' ' || name), policy_id, (SELECT $5::jsonb) ->> queue)
  WHERE ctid = ANY (ARRAY(SELECT spot FROM due))
  RETURNING ${FACT_COLUMNS}, pk`

const claimTexts = (merge: string): Readonly<Record<Kind, string>> => ({
  all: claimText(merge, 'all'),
  floored: claimText(merge, 'floored'),
  named: claimText(merge, 'named'),
})
const CLAIMS = claimTexts('')
const MERGED_CLAIMS = claimTexts(MERGED)

/** Asked for before a claim, and so never too late: by then nothing is due that the claim doesn't see. */
const PROSPECT = `
  WITH ${CLOCK}, ${OPEN}
  SELECT now, EXISTS (SELECT 1 FROM @jobs WHERE $2::boolean AND state = 'running' AND token = $3), (
    SELECT min(line.run_at)
    FROM open, generate_series(0, 9) AS level (priority),
      LATERAL (
        SELECT run_at FROM @jobs
        WHERE state = 'waiting' AND queue = open.name AND priority = level.priority AND run_at > clock.now
        ORDER BY run_at LIMIT 1
      ) AS line
  )
  FROM clock`

const HELD = `
  SELECT ${HELD_COLUMNS} FROM @jobs WHERE state = 'running' AND token = $1 ORDER BY priority DESC, run_at, pk`

type ProspectRow = [now: number, held: boolean, nextDueAt: number | null]

interface Taken {
  readonly now: number
  readonly rows: readonly FactRow[]
  readonly nextDueAt: number | null
  readonly held: boolean
}

export async function claim(db: Database, floors: Floors, request: ClaimRequest): Promise<Claim> {
  const from = request.limit > 0 && !request.names ? floors.get() : []
  const onward = from.length > 0 ? await takeOnward(db, request, from) : []
  if (from.length > 0 && onward.length === request.limit) {
    floors.raise(endsOf(onward))
    return answer(startedAt(onward[0]!), onward, request)
  }
  // Whether there is nothing more can only be told from the beginning.
  const sentAt = db.clock.now()
  const statements = statementsOf(request, request.limit - onward.length, onward.length === 0)
  const [, ...rows] = await db.write('control', statements)
  return claimOf(db, floors, request, readTaken(rows), onward, db.clock.now() - sentAt)
}

/**
 * In one transaction with an enqueue of this process; undefined where there is none to go with, or where it came to
 * nothing: under its token the claim can be made again, whatever became of it.
 */
export async function claimAlong(
  db: Database,
  floors: Floors,
  request: ClaimRequest,
  joint: Joint | undefined,
): Promise<Claim | undefined> {
  const sentAt = db.clock.now()
  const joined = floors.isQuick ? joint?.join(statementsOf(request, request.limit, true)) : undefined
  if (!joined) return undefined
  try {
    const claim = await claimOf(db, floors, request, readTaken((await joined).slice(1)), [], db.clock.now() - sentAt)
    return { ...claim, isAlong: true }
  } catch {
    return undefined
  }
}

/** What was taken from the beginning, behind what was taken before. */
async function claimOf(
  db: Database,
  floors: Floors,
  request: ClaimRequest,
  { now, rows, held, nextDueAt }: Taken,
  onward: readonly FactRow[],
  tookMs: number,
): Promise<Claim> {
  floors.took(tookMs)
  if (held) return { now, jobs: await heldBy(db, request.token) }
  const isAll = onward.length + rows.length === request.limit
  if (!request.names) {
    floors.reset()
    if (isAll) floors.raise(endsOf(rows), tookMs)
  }
  const claim = answer(now, [...onward, ...rows], request)
  return nextDueAt === null || isAll ? claim : { ...claim, nextDueAt }
}

/**
 * From the beginning of every line, behind the lock of the token. Without `mayBeHeld`, the token is one under which we
 * hold something already.
 */
function statementsOf(request: ClaimRequest, limit: number, mayBeHeld: boolean): Statement[] {
  const queues = [...new Set(request.queues)]
  const { names, token } = request
  const values = [
    ...claimValues(request, queues, limit, mayBeHeld),
    ...(names ? [texts(names.list), !names.isExcluded] : []),
  ]
  const sql = (queues.length === 1 ? CLAIMS : MERGED_CLAIMS)[names ? 'named' : 'all']
  return [
    lockFor(token),
    { sql: PROSPECT, values: [texts(queues), mayBeHeld, toText(token)], isKept: true },
    { sql, values, isKept: true },
  ]
}

function readTaken([told, taken]: readonly Row[][]): Taken {
  const [now, held, nextDueAt] = told![0] as unknown as ProspectRow
  const rows = taken as unknown as FactRow[]
  return { now: rows[0] ? startedAt(rows[0]) : now, rows, held, nextDueAt }
}

const startedAt = (row: FactRow): number => row[STARTED_AT] as number
const pkOf = (row: FactRow): number => row[FACT_COUNT] as number

/** On from where the last claims ended; it can't tell whether there is more. */
async function takeOnward(db: Database, request: ClaimRequest, floors: readonly Floor[]): Promise<readonly FactRow[]> {
  const queues = [...new Set(request.queues)]
  const places = new Map(queues.map((queue, index) => [queue, index * 10]))
  const lines: (Floor | undefined)[] = Array.from({ length: queues.length * 10 })
  for (const floor of floors) {
    const place = places.get(floor.queue)
    if (place !== undefined) lines[place + floor.priority] = floor
  }
  const values = [
    ...claimValues(request, queues, request.limit, true),
    numbers(lines.map(line => line?.runAt)),
    numbers(lines.map(line => line?.pk)),
  ]
  const sql = (queues.length === 1 ? CLAIMS : MERGED_CLAIMS).floored
  const [, rows] = await db.write('control', [lockFor(request.token), { sql, values, isKept: true }])
  return rows as unknown as FactRow[]
}

function claimValues(request: ClaimRequest, queues: readonly string[], limit: number, mayBeHeld: boolean): unknown[] {
  const { token, workerId, leaseMs, policyIds } = request
  return [texts(queues), toText(token), toText(workerId), Math.ceil(leaseMs), policies(policyIds), limit, mayBeHeld]
}

/** The last one of each line. */
function endsOf(rows: readonly FactRow[]): Floor[] {
  const ends = new Map<string, Floor>()
  for (const row of rows) {
    const [queue, priority, runAt, pk] = [fromText(row[2]), row[3], row[4], pkOf(row)]
    ends.set(`${priority} ${queue}`, { queue, priority, runAt, pk })
  }
  return [...ends.values()]
}

function answer(now: number, rows: readonly FactRow[], request: ClaimRequest): Claim {
  const sorted = [...rows].sort((a, b) => b[3] - a[3] || a[4] - b[4] || pkOf(a) - pkOf(b))
  return { now, jobs: sorted.map(row => claimed(row, request)) }
}

/**
 * A claim whose answer was lost may still be at work when it is repeated. The second waits for the first, before it
 * looks, and then finds what that took.
 */
function lockFor(token: string): Statement {
  const number = createHash('sha256').update(token).digest().readBigInt64BE()
  return { sql: 'SELECT 1 FROM pg_advisory_xact_lock($1::bigint)', values: [String(number)], isKept: true }
}

/** JSON of the database has no NUL; a name with one has no policy of its own. */
function policies(policyIds: ClaimRequest['policyIds']): string {
  const known = Object.entries(policyIds).filter(([name]) => name === toText(name))
  return JSON.stringify(Object.fromEntries(known.map(([name, id]) => [name, toText(id)])))
}

function claimed(row: FactRow, { token, workerId, leaseMs }: ClaimRequest): Claimed {
  const facts = readFacts(row)
  return Object.assign(facts, { token, workerId, leaseUntil: startedAt(row) + Math.ceil(leaseMs) })
}

async function heldBy(db: Database, token: string): Promise<Claimed[]> {
  return (await db.read<FactRow>(HELD, toText(token))).map(readHeld)
}

export async function held(db: Database, token: string): Promise<Claim> {
  const statements = [lockFor(token), { sql: 'SELECT @now_ms()' }, { sql: HELD, values: [toText(token)] }]
  const [, clock, rows] = await db.write('control', statements)
  return { now: clock![0]![0] as number, jobs: (rows as unknown as FactRow[]).map(readHeld) }
}
