import { createHash } from 'node:crypto'
import type { Timer } from '../../../core/values/clock.js'
import type { RunTime } from '../../store.js'
import type { PgClient, PgNotification } from './driver.js'
import type { Database, Statement } from './pool.js'

/** The minimum time between two notifications of one process. */
const QUIET_MS = 5
/** Polling finds jobs that are due later than this. */
const SOON_MS = 60_000
/**
 * The payload of a notification from a caller's transaction. It commits later than this process knows, so every
 * process reacts to it.
 */
export const FROM_A_TRANSACTION = 'tx'

const CHANNEL_MAX = 63

/** There is one channel per schema, because queue names are data. */
export function channelOf(schema: string): string {
  const name = `chronos:${schema}`
  return name.length <= CHANNEL_MAX ? name : `chronos:${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`
}

/** A notification need not survive a crash, and its receivers should not wait for a flush to disk. */
export const NOTIFY = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`

/**
 * Notifies other processes that there may be work: at once, and then at most every few milliseconds, because
 * notifications serialize the commits of the whole database. Notifications are best effort, so errors are ignored.
 */
export class Notifier {
  readonly #db: Database
  readonly #statement: Statement
  #sentAt = Number.NEGATIVE_INFINITY
  #timer: Timer | undefined
  #sending: Promise<unknown> | undefined
  /** More work was added while a notification was in flight. */
  #more = false

  /** `source` lets the listener of this process recognize its own notifications. */
  constructor(db: Database, source: string) {
    this.#db = db
    this.#statement = { sql: NOTIFY, values: [channelOf(db.schema), source], isKept: true }
  }

  /** Announces work that is due at these times. */
  notify(times: readonly RunTime[]): void {
    const { clock } = this.#db
    if (this.#timer || !times.some(time => isSoon(time, clock.now()))) return
    const waitMs = this.#sentAt + QUIET_MS - clock.now()
    if (this.#sending) this.#more = true
    else if (waitMs <= 0) this.#send()
    else this.#timer = clock.timer(waitMs, () => this.#send())
  }

  /**
   * Returns the notification to send right behind a commit, which saves a round trip. Returns undefined if it is too
   * early for another notification; the caller then uses `notify`.
   */
  statementFor(times: readonly RunTime[]): Statement | undefined {
    const now = this.#db.clock.now()
    if (this.#timer || this.#sending || now < this.#sentAt + QUIET_MS) return undefined
    if (!times.some(time => isSoon(time, now))) return undefined
    this.#sentAt = now
    return this.#statement
  }

  /** Waits until every pending notification is sent. */
  async close(): Promise<void> {
    await this.#sending
    if (this.#timer) this.#send()
    await this.#sending
  }

  #send(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#more = false
    this.#sentAt = this.#db.clock.now()
    const sent = this.#db.sendBestEffort(this.#statement)
    this.#sending = sent.then(() => {
      this.#sending = undefined
      if (this.#more) this.notify([{ delayMs: 0 }])
    })
  }
}

/** The clock of this process is accurate enough to decide whether a time is soon. */
function isSoon(time: RunTime, now: number): boolean {
  return ('at' in time ? time.at - now : time.delayMs) <= SOON_MS
}

const CHECK_EVERY_MS = 20_000
const CHECK_ANSWER_MS = 5_000
const RECONNECT_FIRST_MS = 100
const RECONNECT_MAX_MS = 5_000

/**
 * Listens on a separate connection while there are watchers. It checks from time to time that its own notifications
 * arrive, and otherwise reconnects; meanwhile workers poll.
 */
export class Listener {
  readonly #db: Database
  readonly #source: string
  readonly #url: string | undefined
  readonly #watchers = new Set<() => void>()
  #client: PgClient | undefined
  #timer: Timer | undefined
  #failures = 0
  #checks = 0
  #heard = 0

  constructor(db: Database, source: string, url: string | undefined) {
    this.#db = db
    this.#source = source
    this.#url = url
  }

  watch(onChange: () => void): () => void {
    // A new function per call, so that watching twice with the same callback can be stopped once.
    const watcher = () => onChange()
    this.#watchers.add(watcher)
    if (this.#watchers.size === 1) void this.#connect()
    return () => {
      if (this.#watchers.delete(watcher) && this.#watchers.size === 0) this.close()
    }
  }

  close(): void {
    this.#watchers.clear()
    this.#timer?.cancel()
    this.#drop()
  }

  async #connect(): Promise<void> {
    let client: PgClient | undefined
    try {
      client = await this.#db.client(this.#url)
      const mine = client
      this.#client = mine
      mine.on('error', () => this.#lost(mine))
      mine.on('end', () => this.#lost(mine))
      mine.on('notification', message => this.#hear(mine, message))
      await mine.connect()
      await mine.query({ text: `LISTEN "${channelOf(this.#db.schema)}"` })
      if (this.#client !== mine) return
      this.#failures = 0
      this.#later(CHECK_EVERY_MS, () => this.#check(mine))
      // Notifications before this moment may have been missed.
      this.#call()
    } catch {
      if (client === undefined) this.#reconnect()
      else this.#lost(client)
    }
  }

  #hear(client: PgClient, { payload }: PgNotification): void {
    if (client !== this.#client || payload === this.#source) return
    if (payload === this.#checkWord()) this.#heard = this.#checks
    else if (!payload?.startsWith(CHECK)) this.#call()
  }

  #call(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }

  #checkWord(): string {
    return `${CHECK}${this.#source}:${this.#checks}`
  }

  #check(client: PgClient): void {
    this.#checks += 1
    const values = [channelOf(this.#db.schema), this.#checkWord()]
    client.query({ text: 'SELECT pg_notify($1, $2)', values }).catch(() => this.#lost(client))
    this.#later(CHECK_ANSWER_MS, () => {
      if (this.#heard === this.#checks) this.#later(CHECK_EVERY_MS, () => this.#check(client))
      else this.#lost(client)
    })
  }

  #lost(client: PgClient): void {
    if (client !== this.#client) return
    this.#drop()
    this.#reconnect()
  }

  #reconnect(): void {
    if (this.#watchers.size === 0) return
    const waitMs = Math.min(RECONNECT_MAX_MS, RECONNECT_FIRST_MS * 2 ** Math.min(this.#failures++, 10))
    this.#later(waitMs * (0.5 + this.#db.dice.random() / 2), () => void this.#connect())
  }

  #later(ms: number, run: () => void): void {
    this.#timer?.cancel()
    this.#timer = this.#db.clock.timer(ms, run)
  }

  #drop(): void {
    const client = this.#client
    this.#client = undefined
    // `end` would wait for the server.
    client?.connection?.stream.destroy()
  }
}

const CHECK = 'check:'
