import { toStoredError } from '../core/failure/outcome.js'
import { timeText } from '../core/job/view.js'
import type { Clock, Dice, Timer } from '../core/values/clock.js'
import { checkInteger, PAGE_MAX } from '../core/values/limits.js'
import type { Log } from '../engine/client/log.js'
import { type List, listOf, PAGE_DEFAULT } from '../engine/jobs/query.js'
import { Batcher } from '../engine/time/batcher.js'
import type { Store } from '../store/store.js'
import type { Caller } from './access/caller.js'

const JOURNAL = 'journal'
const KEPT_MS = 90 * 86_400_000
const BATCH = 500
const SUM_EVERY_MS = 1_000
const SUMS_MAX = 1_000
const READ = 500
/** So many entries are read at most for one page of a tenant. */
const READS_MAX = 20
const FACTS_MAX = 2_000

/** Something that somebody changed. */
export interface Deed {
  readonly caller: Caller
  /** `POST /jobs/{id}/cancel` */
  readonly action: string
  /** What it was done to: `id` of a job, name of a queue. */
  readonly target?: string
  readonly requestId: string
  readonly facts?: Readonly<Record<string, unknown>>
}

export interface JournalEntry {
  readonly id: string
  readonly at: string
  readonly actor: string
  readonly role: string
  readonly tenantId?: string
  readonly action: string
  readonly target?: string
  readonly requestId?: string
  /** How often, where entries are sums over a second. */
  readonly count?: number
  readonly facts?: Readonly<Record<string, unknown>>
}

interface JournalOptions {
  readonly store: () => Promise<Store>
  readonly clock: Clock
  readonly dice: Dice
  readonly log: Log
}

/** Who changed what, and when. An entry is stored before the change is answered. */
export class Journal {
  readonly #options: JournalOptions
  readonly #batcher: Batcher<JournalEntry, undefined>
  readonly #sums = new Map<string, { readonly deed: Deed; count: number }>()
  #flushing: Timer | undefined

  constructor(options: JournalOptions) {
    this.#options = options
    this.#batcher = new Batcher(options.clock, BATCH, async entries => {
      const store = await options.store()
      await store.putRecords(entries.map(entry => ({ kind: JOURNAL, id: entry.id, body: JSON.stringify(entry) })))
      return entries.map(() => undefined)
    })
  }

  /** What was done is done: a journal that can't be written is a line in the log, which has it all. */
  async add(deed: Deed): Promise<void> {
    const entry = this.#entry(deed)
    try {
      await this.#batcher.add(entry)
    } catch (error) {
      this.#options.log.error(
        { event: 'journal.failed', entry, error: toStoredError(error) },
        'an entry of the journal could not be stored',
      )
    }
  }

  /** For what happens thousands of times a second: one entry for all of a second, from the same caller. */
  sum(deed: Deed): void {
    const { caller, action } = deed
    const key = JSON.stringify([caller.name, caller.role, caller.tenantId, action])
    const sum = this.#sums.get(key)
    const by = typeof deed.facts?.['count'] === 'number' ? deed.facts['count'] : 1
    if (sum) sum.count += by
    else this.#sums.set(key, { deed, count: by })
    if (this.#sums.size >= SUMS_MAX) void this.flush()
    else this.#flushing ??= this.#options.clock.timer(SUM_EVERY_MS, () => void this.flush())
  }

  async flush(): Promise<void> {
    this.#flushing?.cancel()
    this.#flushing = undefined
    const sums = [...this.#sums.values()]
    this.#sums.clear()
    await Promise.all(sums.map(({ deed, count }) => this.add({ ...deed, facts: { ...deed.facts, count } })))
  }

  /** Newest first. */
  async list({ limit = PAGE_DEFAULT, cursor, tenantId }: JournalQuery = {}): Promise<List<JournalEntry>> {
    checkInteger(limit, 'audit: limit', 1, PAGE_MAX)
    await this.flush()
    const store = await this.#options.store()
    const found: JournalEntry[] = []
    let to = cursor
    for (let reads = 0; reads < READS_MAX; reads++) {
      const records = await store.records(JOURNAL, { limit: READ, order: 'down', ...(to !== undefined && { to }) })
      for (const { id, body } of records) {
        to = id
        const entry = JSON.parse(body) as JournalEntry
        if (tenantId !== undefined && entry.tenantId !== tenantId) continue
        found.push(entry)
        if (found.length === limit) return listOf(found, to)
      }
      if (records.length < READ) return listOf(found, undefined)
    }
    return listOf(found, to)
  }

  /** Forgets what is older than three months; how many entries went. */
  async prune(): Promise<number> {
    const store = await this.#options.store()
    // Ids begin with their time.
    const to = this.#options.dice.id(this.#options.clock.now() - KEPT_MS).slice(0, 13)
    const old = await store.records(JOURNAL, { limit: READ, to })
    if (old.length > 0) await store.putRecords(old.map(({ id }) => ({ kind: JOURNAL, id, body: null })))
    return old.length
  }

  #entry({ caller, action, target, requestId, facts }: Deed): JournalEntry {
    const { clock, dice } = this.#options
    const now = clock.now()
    const { count, ...others } = facts ?? {}
    return {
      id: dice.id(now),
      at: timeText(now),
      actor: caller.name,
      role: caller.role,
      ...(caller.tenantId !== undefined && { tenantId: caller.tenantId }),
      action,
      ...(target !== undefined && { target }),
      requestId,
      ...(typeof count === 'number' && { count }),
      ...(Object.keys(others).length > 0 && { facts: bounded(others) }),
    }
  }
}

export interface JournalQuery {
  readonly limit?: number
  readonly cursor?: string
  readonly tenantId?: string
}

function bounded(facts: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return JSON.stringify(facts).length <= FACTS_MAX ? facts : { note: `more than ${FACTS_MAX} characters, left out` }
}
