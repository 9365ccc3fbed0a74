import { timeOf } from '../../../core/job/run-time.js'
import { partitionOf } from '../../../core/partition/limits.js'
import { fromText, toTags, toText, toTextOrNull } from '../../columns.js'
import type { DeltaDraft } from '../../delta.js'
import { columnNames, GIVEN_COLUMNS, givenValue } from '../../job-columns.js'
import type { Enqueued, NewJob } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { fromHex, ID } from '../rows.js'
import { INLINE_PAYLOAD_MAX, LIVE_UNIQUE } from './job.js'
import { isLimited, LaneDraft } from './lanes.js'
import { nextSlot, rememberThrottle, replace, replacedBefore, tenantOf, throttledBy } from './unique.js'

const FACTS = 'id, name, queue, priority, state, run_at, at_most_once, created_at, policy_id, payload'
const FACT_VALUES = `${ID}, ?, ?, ?, 'waiting', ?, ?, ?, ?, ?`

/** The statement for most jobs. It binds fewer values, because this is the hot path of a bulk enqueue. */
const INSERT_PLAIN_JOB = `INSERT INTO jobs (${FACTS}) VALUES (${FACT_VALUES}) ON CONFLICT (id) DO NOTHING`

/** The columns that few jobs use. Nearly every job has a policy. */
const RARE = GIVEN_COLUMNS.filter(({ field }) => field !== 'policyId')

const INSERT_JOB = `
  INSERT INTO jobs (${FACTS}, lane, tags, unique_slot, ${columnNames(RARE)})
  VALUES (${FACT_VALUES}, ?, ?, ?, ${RARE.map(() => '?').join(', ')})
  ON CONFLICT (id) DO NOTHING`

export function enqueue(db: Connection, jobs: readonly NewJob[], now: number, delta: DeltaDraft): Enqueued[] {
  let queue: string | undefined
  let lanes: LaneDraft | undefined
  let hasLanes = false
  const before = lastKey(db)
  const inserted: NewJob[] = []
  const answers = jobs.map((job): Enqueued => {
    if (job.queue !== queue) {
      queue = job.queue
      db.do('INSERT INTO queues (name) VALUES (?) ON CONFLICT (name) DO NOTHING', toText(queue))
      hasLanes = isLimited(db, queue)
    }
    const known = isAlone(job) ? undefined : existing(db, job, now, delta)
    if (known) return known
    const lane = hasLanes ? partitionOf(job) : undefined
    if (lane !== undefined) {
      lanes ??= new LaneDraft()
      lanes.arrive(job.queue, lane, timeOf(job.runAt, now))
    }
    insert(db, job, now, lane)
    if (job.throttle) rememberThrottle(db, job, job.throttle, now)
    inserted.push(job)
    return { status: 'created', id: job.id }
  })
  lanes?.write(db, now)
  for (const job of createdOf(db, inserted, before)) delta.enqueued(job)
  return answers
}

/**
 * Returns the jobs that did not exist before. A new row gets the key after the last one, so the keys tell how many
 * were inserted; asking each insert for its row count would make it a sixth slower.
 */
function createdOf(db: Connection, inserted: readonly NewJob[], before: number): readonly NewJob[] {
  if (lastKey(db) - before === inserted.length) return inserted
  const rows = db.all<[id: string]>('SELECT hex(id) FROM jobs WHERE pk > ?', before)
  const created = new Set(rows.map(([hex]) => fromHex(hex)))
  return inserted.filter(({ id }) => created.delete(id.toLowerCase()))
}

function lastKey(db: Connection): number {
  return db.get<[number | null]>('SELECT max(pk) FROM jobs')![0] ?? 0
}

function insert(db: Connection, job: NewJob, now: number, lane: string | undefined): void {
  const payload = toText(job.payload)
  const inline = payload.length <= INLINE_PAYLOAD_MAX
  const atMostOnce = job.delivery === 'at-most-once' ? 1 : 0
  const facts = [job.id, toText(job.name), toText(job.queue), job.priority, timeOf(job.runAt, now), atMostOnce] as const
  const policyId = toTextOrNull(job.policyId)
  if (inline && lane === undefined && isPlain(job)) {
    db.do(INSERT_PLAIN_JOB, ...facts, now, policyId, payload)
    return
  }
  const slot = job.replacement ? nextSlot(db, job) : null
  const rare = RARE.map(column => givenValue(column, job, now))
  const common = [policyId, inline ? payload : null, toTextOrNull(lane), toTags(job.tags), slot] as const
  const created = db.run(INSERT_JOB, ...facts, now, ...common, ...rare)
  if (created === 0) return
  if (!inline) db.do('INSERT INTO payloads (job, payload) VALUES (last_insert_rowid(), ?)', payload)
  if (job.key !== undefined) remember(db, job, job.key)
}

function isPlain(job: NewJob): boolean {
  return job.tags.length === 0 && RARE.every(({ field }) => job[field] === undefined)
}

/** Whether no other job can stand in the way of this one. */
function isAlone({ key, unique, throttle }: NewJob): boolean {
  return key === undefined && unique === undefined && throttle === undefined
}

/**
 * The existing job that this one duplicates: its own row, the job with its key, the last one of its throttle, or the
 * live job with its `unique` value, which may take its payload.
 */
function existing(db: Connection, job: NewJob, now: number, delta: DeltaDraft): Enqueued | undefined {
  if (db.get(`SELECT 1 FROM jobs WHERE id = ${ID}`, job.id)) return { status: 'created', id: job.id }
  const before = job.replacement && replacedBefore(db, job, now)
  if (before) return before
  if (job.key !== undefined) {
    const key = db.get<[id: string, payloadHash: string]>(
      `SELECT hex(job_id), payload_hash FROM keys
       WHERE key = ? AND name = ? AND tenant = ? AND ifnull(expires_at > ?, true)`,
      toText(job.key),
      toText(job.name),
      tenantOf(job),
      now,
    )
    if (key) return sameKey(job, fromHex(key[0]), fromText(key[1]))
  }
  if (job.throttle) return throttledBy(db, job, job.throttle, now)
  if (job.unique === undefined) return undefined
  if (job.replacement) return replace(db, job, now, delta)
  const twin = db.get<[id: string]>(LIVE_UNIQUE, toText(job.unique), toText(job.name), tenantOf(job))
  return twin && { status: 'existing', id: fromHex(twin[0]) }
}

function sameKey(job: NewJob, id: string, payloadHash: string): Enqueued {
  if (id === job.id.toLowerCase()) return { status: 'created', id: job.id }
  if (payloadHash !== (job.payloadHash ?? '')) return { status: 'conflict', id, payloadHash }
  return { status: 'existing', id }
}

function remember(db: Connection, job: NewJob, key: string): void {
  db.run(
    // An expired key may still exist.
    `INSERT OR REPLACE INTO keys (key, name, tenant, job_id, payload_hash) VALUES (?, ?, ?, ${ID}, ?)`,
    toText(key),
    toText(job.name),
    tenantOf(job),
    job.id,
    toText(job.payloadHash ?? ''),
  )
}
