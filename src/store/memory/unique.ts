import type { Job } from '../../core/job/job.js'
import { takeNewest } from '../../core/job/unique.js'
import type { DeltaDraft } from '../delta.js'
import { keyOf, REPLACED_SCOPE, throttleScope } from '../scope.js'
import { type Enqueued, type NewJob, REMOVED_KEY_MS, REPLACED_ID_MS } from '../store.js'
import type { Key, MemoryTables, Row } from './tables.js'

export function rememberedKey(
  tables: MemoryTables,
  scope: Pick<Job, 'tenantId' | 'name'>,
  key: string,
  now: number,
): Key | undefined {
  const known = tables.keys.get(keyOf(scope, key))
  return known?.expiresAt !== undefined && known.expiresAt <= now ? undefined : known
}

/** The job that was created with this value within the time of a throttle. */
export function throttledBy(tables: MemoryTables, input: NewJob, now: number): string | undefined {
  return input.throttle && rememberedKey(tables, throttleScope(input), input.throttle.value, now)?.jobId
}

export function rememberThrottle(tables: MemoryTables, input: NewJob, now: number): void {
  if (!input.throttle) return
  const { value, forMs } = input.throttle
  remember(tables, throttleScope(input), value, { jobId: input.id, payloadHash: '', expiresAt: now + forMs })
}

/** The answer to an earlier call with the same id, which replaced a payload. */
export function replacedBefore(tables: MemoryTables, input: NewJob, now: number): Enqueued | undefined {
  const known = input.replacement && rememberedKey(tables, REPLACED_SCOPE, input.id, now)
  return known && { status: 'replaced', id: known.jobId, delayMs: 0 }
}

interface Replaced {
  readonly row: Row
  readonly next: Job
}

/** The newest job with the `unique` value that can take the payload, before and after. */
export function replacedBy(tables: MemoryTables, input: NewJob, now: number): Replaced | undefined {
  for (const row of tables.liveUniques(input, input.unique!)) {
    const next = takeNewest(row.job, input, now)
    if (next) return { row, next }
  }
  return undefined
}

export function replace(tables: MemoryTables, input: NewJob, { row, next }: Replaced, now: number, delta: DeltaDraft) {
  const { id: jobId } = next
  delta.changed(row.job, next)
  tables.change(row, next)
  remember(tables, REPLACED_SCOPE, input.id, { jobId, payloadHash: '', expiresAt: now + REPLACED_ID_MS })
  const { key, payloadHash = '' } = input
  if (key !== undefined) remember(tables, input, key, { jobId, payloadHash, expiresAt: now + REMOVED_KEY_MS })
}

function remember(tables: MemoryTables, scope: Pick<Job, 'tenantId' | 'name'>, value: string, key: Key): void {
  tables.keys.set(keyOf(scope, value), key)
}
