import { createHash } from 'node:crypto'
import type { Timer } from '../../../core/values/clock.js'
import type { RunTime } from '../../store.js'
import type { PgClient, PgNotification } from './driver.js'
import type { Database, Statement } from './pool.js'

/** Between two notifications of one process. */
const QUIET_MS = 5
/** A job that is due later is found by whoever looks for work now and then. */
const SOON_MS = 60_000
/** What a caller's own transaction says: it commits later than we know, so everybody listens to it. */
export const FROM_A_TRANSACTION = 'tx'

const CHANNEL_MAX = 63

/** Queue names are data: there is one channel for the schema. */
export function channelOf(schema: string): string {
  const name = `chronos:${schema}`
  return name.length <= CHANNEL_MAX ? name : `chronos:${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`
}

/** A hint need not survive a crash, and whoever waits for it should not wait for the disk. */
export const NOTIFY = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`

/**
 * Tells other processes that there may be work: at once, and then at most every few milliseconds, since a notification
 * makes the commits of the whole database wait for each other. Only a hint; an error is not worth a word.
 */
export class Notifier {
  readonly #db: Database
  readonly #statement: Statement
  #sentAt = Number.NEGATIVE_INFINITY
  #timer: Timer | undefined
  #sending: Promise<unknown> | undefined
  /** There was more to tell while one was on its way. */
  #more = false

  /** `source` is how its own listener knows its notifications. */
  constructor(db: Database, source: string) {
    this.#db = db
    this.#statement = { sql: NOTIFY, values: [channelOf(db.schema), source], isKept: true }
  }

  /** There is work, due at these times. */
  tell(times: readonly RunTime[]): void {
    const { clock } = this.#db
    if (this.#timer || !times.some(time => isSoon(time, clock.now()))) return
    const waitMs = this.#sentAt + QUIET_MS - clock.now()
    if (this.#sending) this.#more = true
    else if (waitMs <= 0) this.#send()
    else this.#timer = clock.timer(waitMs, () => this.#send())
  }

  /**
   * The same, for who is about to commit that work: what to send right behind the commit, so that it is heard a journey
   * sooner. Undefined where it is not yet time; then it is told afterwards.
   */
  hint(times: readonly RunTime[]): Statement | undefined {
    const now = this.#db.clock.now()
    if (this.#timer || this.#sending || now < this.#sentAt + QUIET_MS) return undefined
    if (!times.some(time => isSoon(time, now))) return undefined
    this.#sentAt = now
    return this.#statement
  }

  /** What there was to tell is told. */
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
    const sent = this.#db.hint(this.#statement)
    this.#sending = sent.then(() => {
      this.#sending = undefined
      if (this.#more) this.tell([{ delayMs: 0 }])
    })
  }
}

/** The clock of this process is good enough to tell soon from later. */
function isSoon(time: RunTime, now: number): boolean {
  return ('at' in time ? time.at - now : time.delayMs) <= SOON_MS
}

const CHECK_EVERY_MS = 20_000
const CHECK_ANSWER_MS = 5_000
const RECONNECT_FIRST_MS = 100
const RECONNECT_MAX_MS = 5_000

/**
 * Listens on a connection of its own, as long as anybody watches. It makes sure from time to time that it still hears
 * itself, and otherwise starts over; meanwhile everybody looks for work now and then anyway.
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
    // Its own, so that one function that watches twice stops once.
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
      // What happened before may have gone unheard.
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
    // Not `end`, which waits for the other side.
    client?.connection?.stream.destroy()
  }
}

const CHECK = 'check:'
