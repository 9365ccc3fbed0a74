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

/** A process that waits for the ends of runs says so this often; others announce ends for three times as long. */
const AWAIT_EVERY_MS = 10_000
const AWAITED_MS = 3 * AWAIT_EVERY_MS
/** The minimum time between two announcements of ends by one process. */
const ENDS_QUIET_MS = 50
/** The beginnings of the payloads that say so, and that announce ends. */
const AWAIT = 'await:'
const ENDED = 'ended:'

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
  readonly #ended: Statement
  #sentAt = Number.NEGATIVE_INFINITY
  #timer: Timer | undefined
  #sending: Promise<unknown> | undefined
  /** More work was added while a notification was in flight. */
  #more = false
  /** Until when another process waits for ends, and when they are announced next. */
  #awaitedUntil = Number.NEGATIVE_INFINITY
  #endsAt = Number.NEGATIVE_INFINITY
  #endsTimer: Timer | undefined
  #turnsAt = Number.NEGATIVE_INFINITY
  #turnsTimer: Timer | undefined

  /** `source` lets the listener of this process recognize its own notifications. */
  constructor(db: Database, source: string) {
    this.#db = db
    this.#ended = { sql: NOTIFY, values: [channelOf(db.schema), `${ENDED}${source}`], isKept: true }
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

  /**
   * Announces that jobs in lanes may start. The worker whose run has ended nearly always takes the next job itself, so
   * this is not urgent, and many are announced at a time.
   */
  notifyTurns(): void {
    const { clock } = this.#db
    this.#turnsTimer ??= clock.timer(Math.max(0, this.#turnsAt - clock.now()), () => {
      this.#turnsTimer = undefined
      this.#turnsAt = clock.now() + ENDS_QUIET_MS
      this.notify([{ delayMs: 0 }])
    })
  }

  /** Another process waits for ends. */
  awaited(): void {
    this.#awaitedUntil = this.#db.clock.now() + AWAITED_MS
  }

  /** Announces ends of runs, many at a time, if another process waits for them. */
  notifyEnds(): void {
    const { clock } = this.#db
    const now = clock.now()
    if (this.#endsTimer || now > this.#awaitedUntil) return
    this.#endsTimer = clock.timer(Math.max(0, this.#endsAt - now), () => {
      this.#endsTimer = undefined
      this.#endsAt = clock.now() + ENDS_QUIET_MS
      void this.#db.sendBestEffort(this.#ended)
    })
  }

  /** Waits until every pending notification is sent. */
  async close(): Promise<void> {
    if (this.#endsTimer) {
      this.#endsTimer.cancel()
      await this.#db.sendBestEffort(this.#ended)
    }
    if (this.#turnsTimer) {
      this.#turnsTimer.cancel()
      this.notify([{ delayMs: 0 }])
    }
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
  /** Those that wait for ends. */
  readonly #waiting = new Set<() => void>()
  readonly #onAwait: () => void
  #awaiting: Timer | undefined
  #client: PgClient | undefined
  #timer: Timer | undefined
  #failures = 0
  #checks = 0
  #heard = 0

  /** `onAwait` is called when another process waits for ends. */
  constructor(db: Database, source: string, url: string | undefined, onAwait: () => void) {
    this.#db = db
    this.#source = source
    this.#url = url
    this.#onAwait = onAwait
  }

  watch(onChange: () => void, what: 'work' | 'ends'): () => void {
    // A new function per call, so that watching twice with the same callback can be stopped once.
    const watcher = () => onChange()
    const isFirst = this.#size === 0
    const watchers = what === 'ends' ? this.#waiting : this.#watchers
    watchers.add(watcher)
    if (isFirst) void this.#connect()
    if (what === 'ends' && this.#waiting.size === 1) this.#await()
    return () => {
      if (watchers.delete(watcher) && this.#size === 0) this.close()
    }
  }

  get #size(): number {
    return this.#watchers.size + this.#waiting.size
  }

  /** Asks the other processes to announce ends, as long as a caller waits. */
  #await(): void {
    this.#awaiting?.cancel()
    this.#awaiting = undefined
    if (this.#waiting.size === 0) return
    const values = [channelOf(this.#db.schema), `${AWAIT}${this.#source}`]
    void this.#db.sendBestEffort({ sql: NOTIFY, values })
    this.#awaiting = this.#db.clock.timer(AWAIT_EVERY_MS, () => this.#await())
  }

  close(): void {
    this.#watchers.clear()
    this.#waiting.clear()
    this.#awaiting?.cancel()
    this.#awaiting = undefined
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
      this.#call(this.#watchers)
      this.#call(this.#waiting)
    } catch {
      if (client === undefined) this.#reconnect()
      else this.#lost(client)
    }
  }

  #hear(client: PgClient, { payload }: PgNotification): void {
    if (client !== this.#client || payload === this.#source) return
    if (payload === this.#checkWord()) this.#heard = this.#checks
    else if (payload?.startsWith(AWAIT)) this.#fromOthers(payload, AWAIT, this.#onAwait)
    else if (payload?.startsWith(ENDED)) this.#fromOthers(payload, ENDED, () => this.#call(this.#waiting))
    else if (!payload?.startsWith(CHECK)) this.#call(this.#watchers)
  }

  #fromOthers(payload: string, beginning: string, act: () => void): void {
    if (payload !== `${beginning}${this.#source}`) act()
  }

  #call(watchers: ReadonlySet<() => void>): void {
    for (const watcher of [...watchers]) watcher()
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
    if (this.#size === 0) return
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
