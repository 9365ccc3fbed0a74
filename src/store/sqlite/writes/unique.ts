import type { Job } from '../../../core/job/job.js'
import { type Throttle, takeNewest } from '../../../core/job/unique.js'
import { toText } from '../../columns.js'
import type { DeltaDraft } from '../../delta.js'
import { REPLACED_SCOPE, throttleScope } from '../../scope.js'
import { type Enqueued, type NewJob, REMOVED_KEY_MS, REPLACED_ID_MS } from '../../store.js'
import type { Connection } from '../file/connection.js'
import { fromHex, ID, readJob } from '../rows.js'
import { findRow, LIVE_UNIQUE, writeJob } from './job.js'
import { LaneDraft } from './lanes.js'

// The modes of `unique`. A job that is enqueued with `replace` or `debounce` while one with its value runs waits beside
// it, in the next slot of the value. So the running job is not touched, and neither claims nor retries know of modes.

type Scope = Pick<Job, 'tenantId' | 'name'>

export const tenantOf = ({ tenantId }: Pick<Job, 'tenantId'>): string | 0 =>
  tenantId === undefined ? 0 : toText(tenantId)

/** Gives the payload to the newest waiting job with the value. Returns undefined if the enqueue needs its own job. */
export function replace(db: Connection, job: NewJob, now: number, delta: DeltaDraft): Enqueued | undefined {
  const live = db.all<[id: string]>(LIVE_UNIQUE, toText(job.unique!), toText(job.name), tenantOf(job))
  for (const [hex] of live) {
    const row = findRow(db, fromHex(hex))!
    const before = readJob(row)
    const next = takeNewest(before, job, now)
    if (!next) continue
    delta.changed(before, next)
    writeJob(db, row[0], { before, next })
    if (next.lane !== undefined) {
      const lanes = new LaneDraft()
      lanes.change(next.queue, next.lane)
      lanes.write(db, now)
    }
    remember(db, REPLACED_SCOPE, job.id.toLowerCase(), next.id, now + REPLACED_ID_MS)
    if (job.key !== undefined) remember(db, job, job.key, next.id, now + REMOVED_KEY_MS, job.payloadHash)
    return { status: 'replaced', id: next.id, delayMs: Math.max(0, next.runAt - now) }
  }
  return undefined
}

/** NULL is the first slot, which a job without a mode also takes. */
export function nextSlot(db: Connection, job: NewJob): number | null {
  return db.get<[slot: number | null]>(
    `SELECT max(ifnull(unique_slot, 0)) + 1 FROM jobs
     WHERE "unique" = ? AND name = ? AND ifnull(tenant_id, 0) = ? AND finished_at IS NULL`,
    toText(job.unique!),
    toText(job.name),
    tenantOf(job),
  )![0]
}

/** The answer to an earlier call with the same id, which replaced a payload. */
export function replacedBefore(db: Connection, job: NewJob, now: number): Enqueued | undefined {
  const id = remembered(db, REPLACED_SCOPE, job.id.toLowerCase(), now)
  return id === undefined ? undefined : { status: 'replaced', id, delayMs: 0 }
}

/** The job that was created with the value within the time of the throttle. */
export function throttledBy(db: Connection, job: NewJob, { value }: Throttle, now: number): Enqueued | undefined {
  const id = remembered(db, throttleScope(job), value, now)
  return id === undefined ? undefined : { status: id === job.id.toLowerCase() ? 'created' : 'existing', id }
}

export function rememberThrottle(db: Connection, job: NewJob, { value, forMs }: Throttle, now: number): void {
  remember(db, throttleScope(job), value, job.id, now + forMs)
}

function remembered(db: Connection, scope: Scope, key: string, now: number): string | undefined {
  const row = db.get<[id: string]>(
    'SELECT hex(job_id) FROM keys WHERE key = ? AND name = ? AND tenant = ? AND expires_at > ?',
    toText(key),
    toText(scope.name),
    tenantOf(scope),
    now,
  )
  return row && fromHex(row[0])
}

function remember(db: Connection, scope: Scope, key: string, id: string, expiresAt: number, payloadHash = ''): void {
  db.run(
    `INSERT OR REPLACE INTO keys (key, name, tenant, job_id, payload_hash, expires_at) VALUES (?, ?, ?, ${ID}, ?, ?)`,
    toText(key),
    toText(scope.name),
    tenantOf(scope),
    id,
    toText(payloadHash),
    expiresAt,
  )
}
