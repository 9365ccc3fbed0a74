import type { DeathReason, JobState, RunStatus, StoredError } from '../../../core/job/job.js'
import { present } from '../../../core/values/present.js'
import { fromText } from '../../columns.js'
import { type Delta, DeltaDraft, groupId } from '../../delta.js'
import { foldInto, keysOf } from '../../fold.js'
import { IdSum } from '../../id-xor.js'
import type { Ask, Database } from '../connection/pool.js'
import { lockRecords, type NextRecord, writeRecords } from '../records.js'
import { KNOWN_COLUMNS, type KnownRow, readKnown } from '../rows.js'

/**
 * A hot statement carries the delta for the expected case and appends it itself, which saves a round trip. If
 * something unexpected happened (a repeated call, a lost lease, a requested cancellation), it appends the bare facts
 * instead, and the fold turns them into a delta. `$n` is the parameter of the delta in the statement.
 */
export const appendEnqueued = (expected: `$${number}`): string => `
  INSERT INTO @deltas (at, body)
  SELECT (SELECT now FROM clock), CASE count WHEN cardinality($1::uuid[]) THEN ${expected}::text ELSE json_build_object(
    'enqueued', (SELECT json_agg(json_build_array(id, queue, name)) FROM made))::text END
  FROM (SELECT count(*) FROM made) AS sum WHERE count > 0`

/**
 * A job may die without an error of its own; it then stays in the group of the last error. `error` is the text of the
 * error of a run `ended`.
 */
export const appendSettled = (expected: `$${number}`, error: string): string => `
  INSERT INTO @deltas (at, body)
  SELECT (SELECT now FROM clock), CASE as_expected WHEN cardinality($1::uuid[]) THEN ${expected}::text ELSE json_build_object(
    'told', ${expected}::text::json,
    'settled', (
      SELECT json_agg(json_build_array(j.id, j.queue, j.name, j.tenant_id, ended.attempt, ended.status, ended.state,
        ended.back, ended.reason, ended.started_at, ended.finished_at, ${error}, ended.group_name, ended.fingerprint, ended.failed_at, ended.due_at))
      FROM ended JOIN @jobs j USING (id)
    ))::text END
  FROM (
    SELECT count(*), count(*) FILTER (
      WHERE state = given_state AND (state <> 'dead' OR fingerprint IS NOT DISTINCT FROM group_name)
    ) AS as_expected
    FROM ended
  ) AS sum
  WHERE count > 0`

/** Appends jobs that ended without a run. `ended` has the columns of `KNOWN_COLUMNS`. */
export const appendEnded = (ended: string): string => `
  INSERT INTO @deltas (at, body)
  SELECT (SELECT now FROM clock), json_build_object('ended', json_agg(json_build_array(${KNOWN_COLUMNS})))::text
  FROM ${ended} HAVING count(*) > 0`

/** Appends a delta that is complete before the commit. */
export async function append(ask: Ask, draft: DeltaDraft): Promise<void> {
  if (!draft.isEmpty) await ask('INSERT INTO @deltas (at, body) VALUES (@now_ms(), $1)', draft.toText(0))
}

// ---------------------------------------------------------------- reading

type JobFacts = [id: string, queue: string, name: string]
type SettledFacts = [
  ...JobFacts,
  tenantId: string | null,
  attempt: number,
  status: RunStatus,
  state: JobState,
  back: number,
  reason: DeathReason | null,
  startedAt: number,
  finishedAt: number,
  error: string | null,
  group: string | null,
  fingerprint: string | null,
  failedAt: number | null,
  /** Absent in a delta of an earlier version. */
  dueAt?: number | null,
]

type Body =
  | Delta
  | { readonly enqueued: readonly JobFacts[] }
  | { readonly ended: readonly KnownRow[] }
  /** `told`: the expected delta, under the name that every version with this schema reads. */
  | { readonly told?: Delta; readonly expected?: Delta; readonly settled: readonly SettledFacts[] }
  /** Jobs that are older than the ledger. */
  | { readonly found: readonly [queue: string, count: number, idBits: string] }

export type DeltaRow = [id: number, at: number, body: string]

export function readDelta([, at, text]: DeltaRow): Delta {
  const body = JSON.parse(text) as Body
  if ('ledger' in body) return { ...body, at }
  if ('found' in body) return foundDelta(at, ...body.found)
  const draft = new DeltaDraft()
  if ('enqueued' in body) for (const facts of body.enqueued) draft.enqueued(jobOf(facts))
  else if ('ended' in body) for (const row of body.ended) draft.ended(readKnown(row))
  else for (const facts of body.settled) addSettled(draft, facts, titlesOf(body.told ?? body.expected))
  return JSON.parse(draft.toText(at)) as Delta
}

function jobOf([id, queue, name]: readonly [...JobFacts, ...unknown[]]) {
  return { id, queue: fromText(queue), name: fromText(name) }
}

function foundDelta(at: number, queue: string, count: number, idBits: string): Delta {
  const ledger = { [fromText(queue)]: { enqueued: count, removed: 0, idSum: idSumOf(idBits) } }
  return { at, ledger, counts: {}, errors: [] }
}

/** The text of an `IdSum` from the result of the aggregate `id_sum`. */
export function idSumOf(idBits: string): string {
  const words = idBits.match(/.{32}/g) ?? []
  return IdSum.of(words.map(bits => Number.parseInt(bits, 2).toString(16).padStart(8, '0')).join('')).toString()
}

type Titles = ReadonlyMap<string, string>

function titlesOf(expected: Delta | undefined): Titles {
  return new Map(
    expected?.errors.map(({ fingerprint, tenantId, seen }) => [groupId(fingerprint, tenantId), seen?.title ?? '']),
  )
}

function addSettled(draft: DeltaDraft, facts: SettledFacts, titles: Titles): void {
  const [, , , tenant, attempt, status, state, back, reason, startedAt, finishedAt, error, group, own, failed, due] =
    facts
  const { id, queue, name } = jobOf(facts)
  const tenantId = tenant === null ? undefined : fromText(tenant)
  const fingerprint = group === null ? undefined : fromText(group)
  draft.settled(
    {
      lease: { id },
      queue,
      name,
      attempt,
      startedAt,
      finishedAt,
      ...present({ tenantId, failedAt: failed ?? undefined, dueAt: due ?? undefined }),
    },
    {
      transition: { status, attemptBack: back > 0, ...(reason !== null && { reason }) },
      ...(fingerprint !== undefined && {
        group: { fingerprint, title: titles.get(groupId(fingerprint, tenantId)) ?? '' },
      }),
      ...(error !== null && { error: JSON.parse(error) as StoredError }),
    },
    state,
    own === null ? undefined : fromText(own),
  )
}

// ---------------------------------------------------------------- folding

/** Only one process folds at a time, and the others skip instead of waiting. */
const ALONE = 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))'

const TAKE = `
  DELETE FROM @deltas WHERE id = ANY (ARRAY(SELECT id FROM @deltas ORDER BY id LIMIT $1)) RETURNING id, at, body`

export function fold(db: Database, limit: number): Promise<number> {
  return db.transaction('work', async ask => {
    const [alone] = await ask<[boolean]>(ALONE, `chronos fold ${db.schema}`)
    if (!alone![0]) return 0
    const rows = await ask<DeltaRow>(TAKE, limit)
    if (rows.length > 0) await addUp(ask, rows.sort(([a], [b]) => a - b).map(readDelta))
    return rows.length
  })
}

async function addUp(ask: Ask, deltas: readonly Delta[]): Promise<void> {
  const current = await lockRecords(ask, keysOf(deltas))
  const versions = new Map(current.map(({ kind, id, version }) => [`${kind} ${id}`, version]))
  const next = foldInto(deltas, current).flatMap(({ kind, id, body }): NextRecord[] => {
    if (body === null) return []
    return [{ kind, id, body, version: (versions.get(`${kind} ${id}`) ?? 0) + 1 }]
  })
  await writeRecords(ask, next)
}
