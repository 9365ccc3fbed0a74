import { createHash } from 'node:crypto'
import { fromText, toText } from '../../columns.js'
import type { Claim, Claimed, ClaimRequest } from '../../store.js'
import { numbers, texts } from '../arrays.js'
import type { Database, Row, Statement } from '../connection/pool.js'
import type { SharedCommit } from '../connection/shared-commit.js'
import { FACT_COLUMNS, FACT_COUNT, type FactRow, HELD_COLUMNS, readFacts, readHeld, STARTED_AT } from '../rows.js'
import type { Watermark, Watermarks } from './claim-watermark.js'

/** Reads the due jobs of one queue and priority from the index, optionally after a position from the last claim. */
const lineText = (kind: Kind): string => `
  SELECT ctid AS spot, run_at, pk FROM @jobs
  WHERE state = 'waiting' AND queue = open.name AND priority = level.priority AND run_at <= clock.now
    ${CONDITIONS[kind]} AND (deadline IS NULL OR deadline > clock.now)
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
const OPEN = `
  open AS MATERIALIZED (
    SELECT name, place::integer FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
    WHERE NOT EXISTS (SELECT 1 FROM @queues q WHERE q.name = asked.name AND q.paused)
  )`

/** The same rule as `beginsWithClaim`. Nearly always $8 is NULL, and nothing else is computed. */
const BEGINS = `$8::text[] IS NOT NULL AND run = 0 AND NOT at_most_once AND override IS NULL
  AND (queue || ' ' || name) = ANY ($8::text[])`

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
  UPDATE @jobs SET state = 'running', run = run + 1, attempt = attempt + 1, begun = ${BEGINS}, token = $2,
    worker_id = $3, lease_until = (SELECT now FROM clock) + $4::bigint, lease_ms = $4::bigint,
    started_at = (SELECT now FROM clock), first_started_at = coalesce(first_started_at, (SELECT now FROM clock)),
    policy_id = coalesce((SELECT $5::jsonb) ->> (queue || ' ' || name), policy_id, (SELECT $5::jsonb) ->> queue)
  WHERE ctid = ANY (ARRAY(SELECT spot FROM due))
  RETURNING ${FACT_COLUMNS}, pk`

const claimTexts = (merge: string): Readonly<Record<Kind, string>> => ({
  all: claimText(merge, 'all'),
  onward: claimText(merge, 'onward'),
  named: claimText(merge, 'named'),
})
const CLAIMS = claimTexts('')
const MERGED_CLAIMS = claimTexts(MERGED)

/** Reads the next due time before claiming, so that it can only be too early, never too late. */
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

export async function claim(db: Database, watermarks: Watermarks, request: ClaimRequest): Promise<Claim> {
  const from = request.limit > 0 && !request.names ? watermarks.get() : []
  const onward = from.length > 0 ? await takeOnward(db, request, from) : []
  if (from.length > 0 && onward.length === request.limit) {
    watermarks.raise(endsOf(onward))
    return answer(startedAt(onward[0]!), onward, request)
  }
  // Only a scan from the beginning can tell that no more jobs are due.
  const sentAt = db.clock.now()
  const statements = statementsOf(request, request.limit - onward.length, onward.length === 0)
  const [, ...rows] = await db.write('control', statements)
  return claimOf(db, watermarks, request, readTaken(rows), onward, db.clock.now() - sentAt)
}

/**
 * Claims in the transaction of an enqueue of this process. Returns undefined if there is no such enqueue or the
 * transaction failed; the caller can then repeat the claim with the same token.
 */
export async function claimAlong(
  db: Database,
  watermarks: Watermarks,
  request: ClaimRequest,
  sharedCommit: SharedCommit | undefined,
): Promise<Claim | undefined> {
  const sentAt = db.clock.now()
  const joined = watermarks.isQuick ? sharedCommit?.join(statementsOf(request, request.limit, true)) : undefined
  if (!joined) return undefined
  try {
    const claim = await claimOf(
      db,
      watermarks,
      request,
      readTaken((await joined).slice(1)),
      [],
      db.clock.now() - sentAt,
    )
    return { ...claim, isAlong: true }
  } catch {
    return undefined
  }
}

/** Combines the jobs claimed by a scan from the beginning with those claimed before it. */
async function claimOf(
  db: Database,
  watermarks: Watermarks,
  request: ClaimRequest,
  { now, rows, held, nextDueAt }: Taken,
  onward: readonly FactRow[],
  tookMs: number,
): Promise<Claim> {
  watermarks.took(tookMs)
  if (held) return { now, jobs: await heldBy(db, request.token) }
  const isAll = onward.length + rows.length === request.limit
  if (!request.names) {
    watermarks.reset()
    if (isAll) watermarks.raise(endsOf(rows), tookMs)
  }
  const claim = answer(now, [...onward, ...rows], request)
  return nextDueAt === null || isAll ? claim : { ...claim, nextDueAt }
}

/**
 * Scans from the beginning, after taking the lock of the token. Without `mayBeHeld`, jobs are already held under the
 * token.
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

function readTaken([prospect, taken]: readonly Row[][]): Taken {
  const [now, held, nextDueAt] = prospect![0] as unknown as ProspectRow
  const rows = taken as unknown as FactRow[]
  return { now: rows[0] ? startedAt(rows[0]) : now, rows, held, nextDueAt }
}

const startedAt = (row: FactRow): number => row[STARTED_AT] as number
const pkOf = (row: FactRow): number => row[FACT_COUNT] as number

/** Continues where the last claims ended; it can't tell whether more jobs are due. */
async function takeOnward(
  db: Database,
  request: ClaimRequest,
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
    ...claimValues(request, queues, request.limit, true),
    numbers(lines.map(line => line?.runAt)),
    numbers(lines.map(line => line?.pk)),
  ]
  const sql = (queues.length === 1 ? CLAIMS : MERGED_CLAIMS).onward
  const [, rows] = await db.write('control', [lockFor(request.token), { sql, values, isKept: true }])
  return rows as unknown as FactRow[]
}

function claimValues(request: ClaimRequest, queues: readonly string[], limit: number, mayBeHeld: boolean): unknown[] {
  const { token, workerId, leaseMs, policyIds, begins } = request
  const lease = [toText(token), toText(workerId), Math.ceil(leaseMs)]
  return [texts(queues), ...lease, policies(policyIds), limit, mayBeHeld, begins ? texts(begins) : null]
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

function answer(now: number, rows: readonly FactRow[], request: ClaimRequest): Claim {
  const sorted = [...rows].sort((a, b) => b[3] - a[3] || a[4] - b[4] || pkOf(a) - pkOf(b))
  return { now, jobs: sorted.map(row => claimed(row, request)) }
}

/**
 * A claim whose answer was lost may still be in progress when it is repeated. The lock makes the repeated claim wait
 * for the first one, so that it finds the same jobs.
 */
function lockFor(token: string): Statement {
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

async function heldBy(db: Database, token: string): Promise<Claimed[]> {
  return (await db.read<FactRow>(HELD, toText(token))).map(readHeld)
}

export async function held(db: Database, token: string): Promise<Claim> {
  const statements = [lockFor(token), { sql: 'SELECT @now_ms()' }, { sql: HELD, values: [toText(token)] }]
  const [, clock, rows] = await db.write('control', statements)
  return { now: clock![0]![0] as number, jobs: (rows as unknown as FactRow[]).map(readHeld) }
}
