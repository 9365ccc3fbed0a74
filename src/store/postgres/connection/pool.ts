import { createHash } from 'node:crypto'
import { type Clock, type Dice, pause } from '../../../core/values/clock.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import {
  loadDriver,
  type PgClient,
  type PgModule,
  type PgPool,
  type PgPoolClient,
  type PgQuery,
  type Place,
  settingsOf,
} from './driver.js'
import {
  connectFailure,
  failure,
  isPoolBusy,
  lostConnection,
  lostRace,
  lostStatement,
  needsAnotherConnection,
  type Site,
} from './failure.js'
import { openSession } from './session.js'
import { SharedReads } from './shared-reads.js'
import { sharesOf } from './shares.js'
import { type Ask, conversation, exchange, flight, listenForWarnings, query, type Row } from './transaction.js'

export type { Ask, Row } from './transaction.js'

/** A statement; `@jobs` in it stands for the table `jobs` of the store's schema. */
export interface Statement {
  readonly sql: string
  readonly values?: readonly unknown[]
  /** Whether it is a frequent statement that the server keeps prepared, with its plan. */
  readonly isKept?: boolean
}

/** Lease renewals and settlements have their own connections, so that other calls can't starve them. */
export type Lane = 'control' | 'work'

const STATEMENT_MS = 5_000
/** Longer than the sleep of every loop, because keeping a connection is cheaper than opening another one. */
const IDLE_MS = 60_000
/** If the server does not end a statement in this many times its timeout, the socket is destroyed. */
const DEADLINE_SHARE = 1.5
const TRIES_MAX = 5
/** How often a call waits for the time of a statement until one of the connections is free. */
const WAITS_MAX = 6

/** Settings added to those of the caller. The store has its own timeouts, and some calls take longer than others. */
const OURS = { keepAlive: true, pipeline: true, query_timeout: 0, fallback_application_name: 'chronos' } as const

export interface DatabaseOptions {
  readonly place: Place
  readonly schema: string
  readonly clock: Clock
  readonly dice: Dice
  /** The maximum number of connections for each kind of call. */
  readonly connections?: Readonly<Record<Lane, number>>
  /** The timeout of a connection attempt and of a statement. Default 5 s. */
  readonly statementMs?: number | undefined
}

const ignore = (): void => undefined

interface Opened extends Readonly<Record<Lane, PgPool>> {
  readonly driver: PgModule
}

/**
 * The database of a store. Every call is a short transaction whose settings end with it, so that transaction pooling
 * works. A few statements are prepared by name, and the server keeps their plans; the name depends on the text, so a
 * wrong statement is never run. If a pooler does not support prepared statements, the first use fails, and from then
 * on none are prepared.
 */
export class Database implements Site {
  readonly schema: string
  readonly clock: Clock
  readonly dice: Dice
  readonly #place: Place
  readonly #connections: Readonly<Record<Lane, number>>
  readonly #statementMs: number
  readonly #texts = new Map<string, string>()
  readonly #names = new Map<string, string>()
  /** Notifications in flight, by the connection that is reserved for them. */
  readonly #notifications = new Map<PgClient, Promise<void>>()
  readonly #sharedReads: SharedReads
  /** The number of calls that were answered. */
  readonly #answered: Record<Lane, number> = { control: 0, work: 0 }
  #keepsStatements = true
  #location = 'PostgreSQL'
  #opening: Promise<Opened> | undefined

  constructor({ place, schema, clock, dice, connections = sharesOf(), statementMs = STATEMENT_MS }: DatabaseOptions) {
    this.#connections = connections
    this.schema = schema
    this.clock = clock
    this.dice = dice
    this.#place = place
    this.#statementMs = statementMs
    this.#sharedReads = new SharedReads(clock, statements => this.#readAll(statements))
  }

  get location(): string {
    return this.#location
  }

  /** Returns the statement with the names of the tables filled in. */
  text(sql: string): string {
    let text = this.#texts.get(sql)
    if (text === undefined) {
      text = sql.replaceAll(/@(?=[a-z])/g, `"${this.schema}".`)
      this.#texts.set(sql, text)
    }
    return text
  }

  /**
   * Runs the statements in one transaction; a function is called once there is a connection. The caller does not wait
   * for the notification that follows.
   */
  write(
    lane: Lane,
    statements: readonly Statement[] | (() => readonly Statement[]),
    notification?: Statement,
  ): Promise<Row[][]> {
    const manners = { site: this, statementMs: this.#statementMs }
    const send = (client: PgClient) => {
      const all = typeof statements === 'function' ? statements() : statements
      const answer = flight(client, manners, this.#queriesOf(all))
      if (notification) this.#follow(client, answer, notification)
      return answer
    }
    return this.#session(lane, send, manners.statementMs)
  }

  /** Sends the notification behind the queries in flight. Without pipelining, it is sent after their answers. */
  #follow(client: PgClient, answer: Promise<unknown>, notification: Statement): void {
    const [query] = this.#queriesOf([notification])
    const sent = client.pipeline ? client.query(query!) : answer.then(() => client.query(query!))
    this.#notifications.set(client, sent.then(ignore, ignore))
  }

  #queriesOf(statements: readonly Statement[]): PgQuery[] {
    return statements.map(({ sql, values, isKept }) => {
      const text = this.text(sql)
      return query(text, values, isKept && this.#keepsStatements ? this.#nameOf(text) : undefined)
    })
  }

  #nameOf(text: string): string {
    let name = this.#names.get(text)
    if (name === undefined) {
      name = `chronos_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
      this.#names.set(text, name)
    }
    return name
  }

  async read<R extends Row>(sql: string, ...values: readonly unknown[]): Promise<R[]> {
    const [rows] = await this.#readAll([{ sql, values }])
    return rows as unknown as R[]
  }

  /** A read that is short for every database; those of the same moment share a transaction. */
  async readShort<R extends Row>(sql: string, ...values: readonly unknown[]): Promise<R[]> {
    return (await this.#sharedReads.read({ sql, values })) as unknown as R[]
  }

  async #readAll(statements: readonly Statement[]): Promise<Row[][]> {
    try {
      return await this.write('work', statements)
    } catch (error) {
      // A read has no unknown outcome.
      const lost = error instanceof ChronosError && error.code === 'STORE_UNKNOWN'
      throw lost ? failure(error.cause, this) : error
    }
  }

  /** A transaction in which one query depends on the answer to another. */
  transaction<T>(lane: Lane, act: (ask: Ask) => Promise<T>, statementMs = this.#statementMs): Promise<T> {
    const talk = (client: PgClient) => conversation(client, { site: this, statementMs }, sql => this.text(sql), act)
    return this.#session(lane, talk, statementMs)
  }

  /** A transaction of two round trips. `next` may be called again, if the transaction is repeated after a lost race. */
  exchange(
    lane: Lane,
    first: readonly Statement[],
    next: (answers: readonly Row[][]) => readonly Statement[],
  ): Promise<Row[][]> {
    const manners = { site: this, statementMs: this.#statementMs }
    const talk = (client: PgClient) =>
      exchange(client, manners, this.#queriesOf(first), answers => this.#queriesOf(next(answers)))
    return this.#session(lane, talk, manners.statementMs)
  }

  /** Runs a single best-effort statement outside a transaction; its failure is ignored. */
  async sendBestEffort(statement: Statement): Promise<void> {
    const send = (client: PgClient) => client.query(this.#queriesOf([statement])[0]!)
    await this.#session('work', send, this.#statementMs).catch(ignore)
  }

  /** Creates a separate connection, not from the pools. */
  async client(url: string | undefined): Promise<PgClient> {
    const { driver } = await this.#open()
    const settings = url === undefined ? settingsOf(this.#place) : { connectionString: url }
    return new driver.Client({ ...settings, ...OURS, connectionTimeoutMillis: this.#statementMs })
  }

  async close(): Promise<void> {
    await Promise.all(this.#notifications.values())
    const opened = await this.#opening?.catch(() => undefined)
    this.#opening = undefined
    await Promise.all(opened ? [opened.control.end(), opened.work.end()] : [])
  }

  /** Retries calls that lost a race or reached a server that is now a standby; translates other errors. */
  async #session<T>(lane: Lane, act: (client: PgPoolClient) => Promise<T>, statementMs: number): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#once(lane, act, statementMs)
      } catch (error) {
        // Every call that was in flight with a prepared statement is repeated, not only the one that noticed first.
        const isUnnamed = lostStatement(error)
        if (isUnnamed) this.#keepsStatements = false
        const mayRepeat = isUnnamed || lostRace(error) || needsAnotherConnection(error)
        if (tries === TRIES_MAX || !mayRepeat) throw failure(error, this)
        await pause(this.clock, this.dice.random() * 2 ** tries)
      }
    }
  }

  async #once<T>(lane: Lane, act: (client: PgPoolClient) => Promise<T>, statementMs: number): Promise<T> {
    const client = await this.#checkOut(lane)
    const deadline = this.clock.timer(statementMs * DEADLINE_SHARE, () => client.connection?.stream.destroy())
    let broken = false
    try {
      const answer = await act(client)
      this.#answered[lane]++
      return answer
    } catch (error) {
      const origin = error instanceof ChronosError ? error.cause : error
      broken = lostConnection(origin) || needsAnotherConnection(origin)
      throw error
    } finally {
      const release = () => {
        deadline.cancel()
        this.#notifications.delete(client)
        client.release(broken)
      }
      const notification = this.#notifications.get(client)
      if (notification) void notification.then(release)
      else release()
    }
  }

  /** While other calls get their answers, the server is reachable, and this call waits for its turn. */
  async #checkOut(lane: Lane): Promise<PgPoolClient> {
    const pools = await this.#open()
    for (let waits = 1; ; waits++) {
      const answered = this.#answered[lane]
      try {
        return await pools[lane].connect()
      } catch (error) {
        const mayWait = isPoolBusy(error) && this.#answered[lane] > answered
        if (!mayWait || waits === WAITS_MAX) throw connectFailure(error, this)
      }
    }
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#makePools().catch(error => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #makePools(): Promise<Opened> {
    const driver = await loadDriver(this.#place)
    const settings = settingsOf(this.#place)
    const { host, port, database, user } = new driver.Client(settings)
    this.#location = `postgres://${user ?? ''}@${host}:${port}/${database ?? ''}`
    const pool = (lane: Lane): PgPool => {
      const limits = {
        max: this.#connections[lane],
        min: 0,
        idleTimeoutMillis: IDLE_MS,
        connectionTimeoutMillis: this.#statementMs,
        allowExitOnIdle: true,
      }
      const made = new driver.Pool({ ...settings, ...OURS, ...limits })
      // A connection that ends while it is idle is replaced; without a listener, its error would end the process.
      made.on('error', () => undefined)
      made.on('connect', client => {
        client.on('error', () => undefined)
        listenForWarnings(client)
        openSession(client, this.#statementMs)
      })
      return made
    }
    return { driver, control: pool('control'), work: pool('work') }
  }
}

/**
 * The schema is part of every statement, so it must need no quoting and be short enough for the names derived from it.
 */
export function checkSchema(schema: unknown): string {
  if (typeof schema === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,47}$/.test(schema)) return schema
  throw new ChronosError(
    'INVALID_OPTION',
    `schema: expected 1 to 48 letters, digits or _ that begin with a letter, got ${shown(schema)}`,
  )
}
