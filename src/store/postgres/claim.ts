import { createHash } from 'node:crypto'
import { fromText, toText } from '../columns.js'
import type { Claim, Claimed, ClaimRequest } from '../store.js'
import { numbers, texts } from './arrays.js'
import type { Floor, Floors } from './floors.js'
import type { Database } from './pool.js'
import { FACT_COLUMNS, FACT_COUNT, type FactRow, HELD_COLUMNS, type HeldRow, readFacts, readHeld } from './rows.js'

/** Due jobs of one queue and priority, by a step into the index. */
const LINE = `
  SELECT id, run_at, pk FROM @jobs
  WHERE state = 'waiting' AND queue = open.name AND priority = level.priority AND run_at <= clock.now
    AND (run_at, pk) > (floor.run_at, floor.pk) AND (deadline IS NULL OR deadline > clock.now)
  ORDER BY run_at, pk LIMIT $6 FOR UPDATE SKIP LOCKED`

/** One row, whether there is a floor or not. */
const FLOOR = `
  SELECT coalesce(max(run_at), ${Number.MIN_SAFE_INTEGER}) AS run_at, coalesce(max(pk), 0) AS pk FROM floors
  WHERE floors.queue = open.name AND floors.priority = level.priority`

/**
 * Of one queue they come as they are, and no more are locked than are taken. Of several they are merged: up to the
 * limit of each is locked, and what is not taken is free again with the commit, a moment later.
 */
const MERGED = 'ORDER BY line.run_at, line.pk LIMIT $6'

/**
 * One statement. It walks down the priorities and takes the due ones of each, so that neither ended jobs nor those of
 * a higher priority that wait for their time cost anything. A LATERAL join runs in the order of what it depends on,
 * whatever plan is chosen, and stops at the limit; materialized, it runs once.
 */
const claimText = (merge: string): string => `
  WITH clock AS MATERIALIZED (SELECT @now_ms() AS now),
  held AS MATERIALIZED (SELECT 1 FROM @jobs WHERE $7::boolean AND state = 'running' AND token = $2 LIMIT 1),
  open AS MATERIALIZED (
    SELECT asked.name FROM unnest($1::text[]) AS asked (name)
    WHERE NOT EXISTS (SELECT 1 FROM @queues q WHERE q.name = asked.name AND q.paused)
  ),
  floors AS MATERIALIZED (
    SELECT * FROM unnest($8::text[], $9::smallint[], $10::bigint[], $11::bigint[])
      AS floors (queue, priority, run_at, pk)
  ),
  due AS MATERIALIZED (
    SELECT waiting.id
    FROM clock, generate_series(9, 0, -1) AS level (priority),
      LATERAL (
        SELECT line.id FROM open, LATERAL (${FLOOR}) AS floor, LATERAL (${LINE}) AS line ${merge}
      ) AS waiting
    WHERE NOT EXISTS (SELECT 1 FROM held)
    LIMIT $6
  ),
  taken AS (
    UPDATE @jobs SET state = 'running', run = run + 1, attempt = attempt + 1, begun = false, token = $2,
      worker_id = $3, lease_until = (SELECT now FROM clock) + $4::bigint, lease_ms = $4::bigint,
      started_at = (SELECT now FROM clock), first_started_at = coalesce(first_started_at, (SELECT now FROM clock)),
      policy_id = coalesce($5::jsonb ->> (queue || ' ' || name), policy_id)
    WHERE id = ANY (ARRAY(SELECT id FROM due))
    RETURNING ${FACT_COLUMNS}, pk
  ),
  next_due AS MATERIALIZED (
    SELECT min(line.run_at) AS at
    FROM clock, open, generate_series(0, 9) AS level (priority),
      LATERAL (
        SELECT run_at FROM @jobs
        WHERE state = 'waiting' AND queue = open.name AND priority = level.priority AND run_at > clock.now
        ORDER BY run_at LIMIT 1
      ) AS line
    WHERE (SELECT count(*) FROM taken) < $6 AND NOT EXISTS (SELECT 1 FROM held)
  )
  SELECT ${FACT_COLUMNS}, pk, (SELECT now FROM clock), (SELECT at FROM next_due), EXISTS (SELECT 1 FROM held)
  FROM clock LEFT JOIN taken ON true
  ORDER BY priority DESC, run_at, pk`

const CLAIM_ONE = claimText('')
const CLAIM_MANY = claimText(MERGED)

const HELD = `
  SELECT ${HELD_COLUMNS} FROM @jobs WHERE state = 'running' AND token = $1 ORDER BY priority DESC, run_at, pk`

type ClaimRow = [...FactRow, pk: number, now: number, nextDueAt: number | null, held: boolean]

interface Taken {
  readonly now: number
  readonly rows: readonly ClaimRow[]
  readonly nextDueAt: number | null
  readonly held: boolean
}

export async function claim(db: Database, floors: Floors, request: ClaimRequest): Promise<Claim> {
  const from = floors.get()
  const sentAt = db.clock.now()
  const first = await take(db, request, request.limit, from, true)
  if (first.held) return { now: first.now, jobs: await heldBy(db, request.token) }
  if (first.rows.length === request.limit) {
    floors.raise(endsOf(first.rows), from.length === 0 ? db.clock.now() - sentAt : undefined)
    return answer(request, [first])
  }
  floors.reset()
  if (from.length === 0) return answer(request, [first])
  // Whether there is nothing more can only be told from the beginning.
  return answer(request, [first, await take(db, request, request.limit - first.rows.length, [], false)])
}

async function take(
  db: Database,
  { workerId, leaseMs, queues, token, policyIds }: ClaimRequest,
  limit: number,
  floors: readonly Floor[],
  mayBeHeld: boolean,
): Promise<Taken> {
  const asked = [...new Set(queues)]
  const values = [
    texts(asked),
    toText(token),
    toText(workerId),
    Math.ceil(leaseMs),
    policies(policyIds),
    limit,
    mayBeHeld,
    texts(floors.map(({ queue }) => queue)),
    numbers(floors.map(({ priority }) => priority)),
    numbers(floors.map(({ runAt }) => runAt)),
    numbers(floors.map(({ pk }) => pk)),
  ]
  const sql = asked.length === 1 ? CLAIM_ONE : CLAIM_MANY
  const [found] = await db.write('control', [{ sql, values }], lockFor(token))
  const rows = found as unknown as ClaimRow[]
  const [now, nextDueAt, held] = rows[0]!.slice(FACT_COUNT + 1) as [number, number | null, boolean]
  // Where nothing was taken, there is one row, with the time.
  return { now, nextDueAt, held, rows: rows[0]![0] === null ? [] : rows }
}

/** The last one of each line. */
function endsOf(rows: readonly ClaimRow[]): Floor[] {
  const ends = new Map<string, Floor>()
  for (const row of rows) {
    const [queue, priority, runAt, pk] = [fromText(row[2]), row[3], row[4], row[FACT_COUNT] as number]
    ends.set(`${priority} ${queue}`, { queue, priority, runAt, pk })
  }
  return [...ends.values()]
}

function answer(request: ClaimRequest, parts: readonly Taken[]): Claim {
  const { now, nextDueAt } = parts.at(-1)!
  const jobs = parts.flatMap(part => part.rows.map(row => claimed(row, request, part.now)))
  if (parts.length > 1) jobs.sort((a, b) => b.priority - a.priority || a.runAt - b.runAt)
  return nextDueAt === null ? { now, jobs } : { now, jobs, nextDueAt }
}

/**
 * A claim whose answer was lost may still be at work when it is repeated. The second waits for the first, before it
 * looks, and then finds what that took.
 */
function lockFor(token: string): string {
  const number = createHash('sha256').update(token).digest().readBigInt64BE()
  return `SELECT pg_advisory_xact_lock(${number});`
}

/** JSON of the database has no NUL; a name with one has no policy of its own. */
function policies(policyIds: ClaimRequest['policyIds']): string {
  const known = Object.entries(policyIds).filter(([name]) => name === toText(name))
  return JSON.stringify(Object.fromEntries(known.map(([name, id]) => [name, toText(id)])))
}

function claimed(row: ClaimRow, { token, workerId, leaseMs }: ClaimRequest, now: number): Claimed {
  const facts = readFacts(row as unknown as FactRow)
  return Object.assign(facts, { token, workerId, leaseUntil: now + Math.ceil(leaseMs) })
}

async function heldBy(db: Database, token: string): Promise<Claimed[]> {
  return (await db.read<HeldRow>(HELD, toText(token))).map(readHeld)
}
