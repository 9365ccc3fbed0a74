import { AUDIT_LOG, type AuditLogEntry, auditIdPrefix } from '../core/audit/entry.js'
import { toStoredError } from '../core/failure/outcome.js'
import { timeText } from '../core/job/view.js'
import type { Clock, Dice, Timer } from '../core/values/clock.js'
import { DAY_MS, HOUR_MS } from '../core/values/duration.js'
import { pageLimit } from '../core/values/limits.js'
import { present } from '../core/values/present.js'
import { read } from '../core/values/schema.js'
import type { Log } from '../engine/client/log.js'
import { type List, listOf, PAGE_DEFAULT } from '../engine/jobs/query.js'
import { bodyOf } from '../engine/records/records.js'
import { Batcher } from '../engine/time/batcher.js'
import type { Store } from '../store/store.js'
import type { Caller } from './access/caller.js'
import type { Facts } from './audit-words.js'

const KEPT_MS = 90 * DAY_MS
const PRUNE_EVERY_MS = HOUR_MS
const BATCH = 500
const SUM_EVERY_MS = 1_000
const SUMS_MAX = 1_000
/** A page of one tenant reads at most this many batches. */
const READS_MAX = 20
const FACTS_MAX = 2_000

/** A change that a caller made. */
export interface Change {
  readonly caller: Caller
  /** `POST /jobs/{id}/cancel` */
  readonly action: string
  /** The changed thing: the id of a job, the name of a queue. */
  readonly target?: string
  readonly requestId: string
  readonly facts?: Facts
  /** The change in words, from its facts. */
  readonly did?: (facts: Facts) => string
}

interface AuditLogOptions {
  readonly store: () => Promise<Store>
  readonly clock: Clock
  readonly dice: Dice
  readonly log: Log
}

/** Who changed what, and when. An entry is stored before the response to the change is sent. */
export class AuditLog {
  readonly #options: AuditLogOptions
  readonly #batcher: Batcher<AuditLogEntry, undefined>
  readonly #sums = new Map<string, { readonly change: Change; count: number }>()
  #flushing: Timer | undefined

  constructor(options: AuditLogOptions) {
    this.#options = options
    this.#batcher = new Batcher(options.clock, BATCH, async entries => {
      const store = await options.store()
      await store.putRecords(entries.map(entry => ({ kind: AUDIT_LOG, id: entry.id, body: JSON.stringify(entry) })))
      return entries.map(() => undefined)
    })
  }

  /** The change has already happened, so an entry that can't be stored is logged in full instead of failing the request. */
  async add(change: Change): Promise<void> {
    const entry = this.#entry(change)
    try {
      await this.#batcher.add(entry)
    } catch (error) {
      this.#options.log.error(
        { event: 'audit.failed', entry, error: toStoredError(error) },
        'failed to store audit log entry',
      )
    }
  }

  /** Counts changes that happen thousands of times a second: one entry per caller, action and second. */
  sum(change: Change): void {
    const { caller, action } = change
    const key = JSON.stringify([caller.name, caller.role, caller.tenantId, action])
    const sum = this.#sums.get(key)
    const by = typeof change.facts?.['count'] === 'number' ? change.facts['count'] : 1
    if (sum) sum.count += by
    else this.#sums.set(key, { change, count: by })
    if (this.#sums.size >= SUMS_MAX) void this.flush()
    else this.#flushing ??= this.#options.clock.timer(SUM_EVERY_MS, () => void this.flush())
  }

  async flush(): Promise<void> {
    this.#flushing?.cancel()
    this.#flushing = undefined
    const sums = [...this.#sums.values()]
    this.#sums.clear()
    await Promise.all(sums.map(({ change, count }) => this.add({ ...change, facts: { ...change.facts, count } })))
  }

  /** Newest first. */
  async list({ limit = PAGE_DEFAULT, cursor, tenantId, id }: AuditLogQuery = {}): Promise<List<AuditLogEntry>> {
    read(pageLimit, limit, 'audit: limit')
    await this.flush()
    const store = await this.#options.store()
    const isOf = (entry: AuditLogEntry): boolean => tenantId === undefined || entry.tenantId === tenantId
    if (id !== undefined) {
      const [record] = await store.records(AUDIT_LOG, { ids: [id] })
      return listOf(record ? bodyOf<AuditLogEntry>(record).filter(isOf) : [], undefined)
    }
    const found: AuditLogEntry[] = []
    let to = cursor
    for (let reads = 0; reads < READS_MAX; reads++) {
      const records = await store.records(AUDIT_LOG, { limit: BATCH, order: 'down', ...present({ to }) })
      for (const record of records) {
        to = record.id
        const [entry] = bodyOf<AuditLogEntry>(record)
        if (!entry || !isOf(entry)) continue
        found.push(entry)
        if (found.length === limit) return listOf(found, to)
      }
      if (records.length < BATCH) return listOf(found, undefined)
    }
    return listOf(found, to)
  }

  /** Deletes a batch of entries older than 90 days; returns the time until the next batch. */
  async prune(): Promise<number> {
    const store = await this.#options.store()
    const to = auditIdPrefix(this.#options.clock.now() - KEPT_MS)
    const old = await store.records(AUDIT_LOG, { limit: BATCH, to })
    if (old.length > 0) await store.putRecords(old.map(({ id }) => ({ kind: AUDIT_LOG, id, body: null })))
    return old.length < BATCH ? PRUNE_EVERY_MS : 0
  }

  #entry({ caller, action, target, requestId, facts, did }: Change): AuditLogEntry {
    const { clock, dice } = this.#options
    const now = clock.now()
    const { count, ...others } = facts ?? {}
    return present({
      id: dice.id(now),
      at: timeText(now),
      actor: caller.name,
      role: caller.role,
      tenantId: caller.tenantId,
      action,
      summary: did?.(facts ?? {}),
      target,
      requestId,
      count: typeof count === 'number' ? count : undefined,
      facts: Object.keys(others).length > 0 ? bounded(others) : undefined,
    })
  }
}

export interface AuditLogQuery {
  readonly limit?: number
  readonly cursor?: string
  readonly tenantId?: string
  /** Only this entry. */
  readonly id?: string
}

function bounded(facts: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return JSON.stringify(facts).length <= FACTS_MAX ? facts : { note: `more than ${FACTS_MAX} characters, left out` }
}
