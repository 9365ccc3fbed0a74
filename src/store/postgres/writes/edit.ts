import { toJson, toTags, toText, toTextOrNull } from '../../columns.js'
import { DeltaDraft } from '../../delta.js'
import { edited, isAsRead, type JobEdit } from '../../edit.js'
import type { Changed } from '../../store.js'
import { ids, isId } from '../arrays.js'
import type { Database } from '../connection/pool.js'
import { isKeptApart, KEPT_APART } from '../rows.js'
import { append } from './deltas.js'
import { jobsById } from './manual.js'

const LOCK = 'SELECT @now_ms() FROM @jobs WHERE id = ANY ($1::uuid[]) FOR UPDATE'

const EDIT = `
  UPDATE @jobs SET queue = $2, priority = $3, run_at = $4, tags = $5, timeout_ms = $6, deadline = $7, override = $8,
    payload = $9, dependency = $10, pass = $11
  WHERE id = ANY ($1::uuid[])`

const FORGET_PAYLOAD = 'DELETE FROM @payloads WHERE id = ANY ($1::uuid[])'
const KEEP_PAYLOAD = 'INSERT INTO @payloads (id, body) SELECT unnest($1::uuid[]), $2'

/** From the lock on nobody else changes it. */
export function edit(db: Database, id: string, asked: JobEdit): Promise<Changed> {
  if (!isId(id)) return Promise.resolve({ id, status: 'not-found' })
  return db.transaction('work', async (ask): Promise<Changed> => {
    const [locked] = await ask<[now: number]>(LOCK, ids([id]))
    const job = (await jobsById(ask, [id])).get(id.toLowerCase())
    if (!locked || !job) return { id, status: 'not-found' }
    if (!isAsRead(job, asked.expect)) return { id, status: 'refused', job }
    const next = edited(job, asked, locked[0])
    await ask(
      EDIT,
      ids([id]),
      toText(next.queue),
      next.priority,
      next.runAt,
      toTags(next.tags),
      next.timeoutMs ?? null,
      next.deadline ?? null,
      toJson(next.override),
      isKeptApart(next.payload) ? KEPT_APART : toText(next.payload),
      toTextOrNull(next.dependency),
      next.pass ?? null,
    )
    // Even where it stays the same: one from before version 4 is in the job still.
    await ask(FORGET_PAYLOAD, ids([id]))
    if (isKeptApart(next.payload)) await ask(KEEP_PAYLOAD, ids([id]), toText(next.payload))
    const delta = new DeltaDraft()
    if (next.queue !== job.queue) delta.moved(job, next.queue)
    await append(ask, delta)
    return { id, status: 'changed', job: next }
  })
}
