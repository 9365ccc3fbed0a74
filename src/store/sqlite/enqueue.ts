import type { Enqueued, NewJob } from '../store.js'
import type { Connection } from './connection.js'
import { fromHex, fromText, ID, timeOf, toJson, toTags, toText, toTextOrNull } from './rows.js'

/** Characters. A longer payload is kept beside its job, where claim and settle do not rewrite it. */
const INLINE_PAYLOAD_MAX = 400

const INSERT_JOB = `
  INSERT INTO jobs (id, name, queue, priority, state, run_at, at_most_once, created_at, deadline, timeout_ms,
    tenant_id, key, "unique", tags, policy_id, override, payload)
  VALUES (${ID}, ?, ?, ?, 'waiting', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO NOTHING`

/** For all that most jobs leave out: fewer values to hand over, and the hot path of a bulk enqueue. */
const INSERT_PLAIN_JOB = `
  INSERT INTO jobs (id, name, queue, priority, state, run_at, at_most_once, created_at, payload)
  VALUES (${ID}, ?, ?, ?, 'waiting', ?, ?, ?, ?)
  ON CONFLICT (id) DO NOTHING`

export function enqueue(db: Connection, jobs: readonly NewJob[], now: number): Enqueued[] {
  let queue: string | undefined
  return jobs.map(job => {
    if (job.queue !== queue) {
      queue = job.queue
      db.run('INSERT INTO queues (name) VALUES (?) ON CONFLICT (name) DO NOTHING', toText(queue))
    }
    const known = job.key === undefined && job.unique === undefined ? undefined : existing(db, job, now)
    if (known) return known
    insert(db, job, now)
    return { status: 'created', id: job.id }
  })
}

function insert(db: Connection, job: NewJob, now: number): void {
  const payload = toText(job.payload)
  const inline = payload.length <= INLINE_PAYLOAD_MAX
  const facts = [job.id, toText(job.name), toText(job.queue), job.priority, timeOf(job.runAt, now)] as const
  const atMostOnce = job.delivery === 'at-most-once' ? 1 : 0
  const created = isPlain(job)
    ? db.run(INSERT_PLAIN_JOB, ...facts, atMostOnce, now, inline ? payload : null)
    : db.run(
        INSERT_JOB,
        ...facts,
        atMostOnce,
        now,
        job.deadline ? timeOf(job.deadline, now) : null,
        job.timeoutMs ?? null,
        toTextOrNull(job.tenantId),
        toTextOrNull(job.key),
        toTextOrNull(job.unique),
        toTags(job.tags),
        toTextOrNull(job.policyId),
        toJson(job.override),
        inline ? payload : null,
      )
  if (created === 0) return
  if (!inline) db.run(`INSERT INTO payloads (job, payload) SELECT pk, ? FROM jobs WHERE id = ${ID}`, payload, job.id)
  if (job.key !== undefined) remember(db, job, job.key)
}

function isPlain(job: NewJob): boolean {
  return (
    job.policyId === undefined &&
    job.tenantId === undefined &&
    job.key === undefined &&
    job.unique === undefined &&
    job.tags.length === 0 &&
    job.override === undefined &&
    job.timeoutMs === undefined &&
    job.deadline === undefined
  )
}

/** Whether there is such a job already: its own row, that of its key, or the live one with its `unique` value. */
function existing(db: Connection, job: NewJob, now: number): Enqueued | undefined {
  if (db.get(`SELECT 1 FROM jobs WHERE id = ${ID}`, job.id)) return { status: 'created', id: job.id }
  const tenant = job.tenantId === undefined ? 0 : toText(job.tenantId)
  if (job.key !== undefined) {
    const key = db.get<[id: string, payloadHash: string]>(
      `SELECT hex(job_id), payload_hash FROM keys
       WHERE key = ? AND name = ? AND tenant = ? AND ifnull(expires_at > ?, true)`,
      toText(job.key),
      toText(job.name),
      tenant,
      now,
    )
    if (key) return sameKey(job, fromHex(key[0]), fromText(key[1]))
  }
  if (job.unique === undefined) return undefined
  const twin = db.get<[id: string]>(LIVE_UNIQUE, toText(job.unique), toText(job.name), tenant)
  return twin && { status: 'existing', id: fromHex(twin[0]) }
}

export const LIVE_UNIQUE = `SELECT hex(id) FROM jobs
  WHERE "unique" = ? AND name = ? AND ifnull(tenant_id, 0) = ? AND finished_at IS NULL`

function sameKey(job: NewJob, id: string, payloadHash: string): Enqueued {
  if (id === job.id.toLowerCase()) return { status: 'created', id: job.id }
  if (payloadHash !== (job.payloadHash ?? '')) return { status: 'conflict', id, payloadHash }
  return { status: 'existing', id }
}

function remember(db: Connection, job: NewJob, key: string): void {
  db.run(
    // A key whose time was over may still be there.
    `INSERT OR REPLACE INTO keys (key, name, tenant, job_id, payload_hash) VALUES (?, ?, ?, ${ID}, ?)`,
    toText(key),
    toText(job.name),
    job.tenantId === undefined ? 0 : toText(job.tenantId),
    job.id,
    toText(job.payloadHash ?? ''),
  )
}
