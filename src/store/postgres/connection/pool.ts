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
  lostConnection,
  lostRace,
  lostStatement,
  needsAnotherConnection,
  type Site,
} from './failure.js'
import { type Ask, conversation, flight, listenForWarnings, query, type Row } from './transaction.js'

export type { Ask, Row } from './transaction.js'

/** A statement; `@jobs` in it is the table `jobs` of our schema. */
export interface Statement {
  readonly sql: string
  readonly values?: readonly unknown[]
  /** One of the few that carry the load: the server keeps it, with its plan. */
  readonly isKept?: boolean
}

/** Leases and ends of runs have connections of their own: whatever callers ask for can't starve them. */
export type Lane = 'control' | 'work'

const CONNECTIONS: Readonly<Record<Lane, number>> = { control: 3, work: 4 }
const STATEMENT_MS = 5_000
/** Longer than any loop sleeps: to close a connection and open another costs more than to keep it. */
const IDLE_MS = 60_000
/** When the server should long have given up a statement, we give up the server: its socket is destroyed. */
const DEADLINE_SHARE = 1.5
const TRIES_MAX = 5

/** Beside what the caller says of the connection. */
const OURS = { keepAlive: true, pipeline: true, fallback_application_name: 'chronos' } as const

export interface DatabaseOptions {
  readonly place: Place
  readonly schema: string
  readonly clock: Clock
  readonly dice: Dice
  /** By when a connection, and a statement, is given up. Default 5 s. */
  readonly statementMs?: number | undefined
}

const ignore = (): void => undefined

interface Opened extends Readonly<Record<Lane, PgPool>> {
  readonly driver: PgModule
}

/**
 * The database behind a store, and the rules by which it is spoken to: everything happens in a short transaction
 * whose settings end with it, so that a pooler which gives every transaction another connection changes nothing. A few
 * statements have names, and are kept by the server with their plans; names tell texts apart, so a wrong one is never
 * run. Where a pooler does not know of names, that shows at once, and from then on there are none.
 */
export class Database implements Site {
  readonly schema: string
  readonly clock: Clock
  readonly dice: Dice
  readonly #place: Place
  readonly #statementMs: number
  readonly #texts = new Map<string, string>()
  readonly #names = new Map<string, string>()
  /** Under way, by the connection that is kept for it. */
  readonly #hints = new Map<PgClient, Promise<void>>()
  #keepsStatements = true
  #location = 'PostgreSQL'
  #opening: Promise<Opened> | undefined

  constructor({ place, schema, clock, dice, statementMs = STATEMENT_MS }: DatabaseOptions) {
    this.schema = schema
    this.clock = clock
    this.dice = dice
    this.#place = place
    this.#statementMs = statementMs
  }

  get location(): string {
    return this.#location
  }

  /** The statement as the database knows it. */
  text(sql: string): string {
    let text = this.#texts.get(sql)
    if (text === undefined) {
      text = sql.replaceAll(/@(?=[a-z])/g, `"${this.schema}".`)
      this.#texts.set(sql, text)
    }
    return text
  }

  /** All of it in one transaction; what it is may be said when there is a connection. Nobody waits for the hint behind it. */
  write(
    lane: Lane,
    statements: readonly Statement[] | (() => readonly Statement[]),
    hint?: Statement,
  ): Promise<Row[][]> {
    const manners = { site: this, statementMs: this.#statementMs }
    const send = (client: PgClient) => {
      const all = typeof statements === 'function' ? statements() : statements
      const answer = flight(client, manners, this.#queriesOf(all))
      if (hint) this.#follow(client, answer, hint)
      return answer
    }
    return this.#session(lane, send, manners.statementMs)
  }

  /** Behind what is under way; where the driver sends one query after the other, behind its answer. */
  #follow(client: PgClient, answer: Promise<unknown>, hint: Statement): void {
    const [query] = this.#queriesOf([hint])
    const sent = client.pipeline ? client.query(query!) : answer.then(() => client.query(query!))
    this.#hints.set(client, sent.then(ignore, ignore))
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
    try {
      const [rows] = await this.write('work', [{ sql, values }])
      return rows as unknown as R[]
    } catch (error) {
      // What only reads has no outcome that could be unknown.
      const lost = error instanceof ChronosError && error.code === 'STORE_UNKNOWN'
      throw lost ? failure(error.cause, this) : error
    }
  }

  /** A transaction in which one question depends on the answer to another. */
  transaction<T>(lane: Lane, act: (ask: Ask) => Promise<T>, statementMs = this.#statementMs): Promise<T> {
    const talk = (client: PgClient) => conversation(client, { site: this, statementMs }, sql => this.text(sql), act)
    return this.#session(lane, talk, statementMs)
  }

  /** A single statement that nothing depends on: no transaction around it, and nobody hears of its failure. */
  async hint(statement: Statement): Promise<void> {
    const send = (client: PgClient) => client.query(this.#queriesOf([statement])[0]!)
    await this.#session('work', send, this.#statementMs).catch(ignore)
  }

  /** A connection of its own, not from the pools. */
  async client(url: string | undefined): Promise<PgClient> {
    const { driver } = await this.#open()
    const settings = url === undefined ? settingsOf(this.#place) : { connectionString: url }
    return new driver.Client({ ...settings, ...OURS, connectionTimeoutMillis: this.#statementMs })
  }

  async close(): Promise<void> {
    await Promise.all(this.#hints.values())
    const opened = await this.#opening?.catch(() => undefined)
    this.#opening = undefined
    await Promise.all(opened ? [opened.control.end(), opened.work.end()] : [])
  }

  /** Repeats what lost a race, or met a server that has become a standby; tells the rest in our words. */
  async #session<T>(lane: Lane, act: (client: PgPoolClient) => Promise<T>, statementMs: number): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#once(lane, act, statementMs)
      } catch (error) {
        const isUnnamed = lostStatement(error) && this.#keepsStatements
        if (isUnnamed) this.#keepsStatements = false
        else if (tries === TRIES_MAX || !(lostRace(error) || needsAnotherConnection(error))) throw failure(error, this)
        await pause(this.clock, this.dice.random() * 2 ** tries)
      }
    }
  }

  async #once<T>(lane: Lane, act: (client: PgPoolClient) => Promise<T>, statementMs: number): Promise<T> {
    const client = await this.#checkOut(lane)
    const deadline = this.clock.timer(statementMs * DEADLINE_SHARE, () => client.connection?.stream.destroy())
    let broken = false
    try {
      return await act(client)
    } catch (error) {
      const origin = error instanceof ChronosError ? error.cause : error
      broken = lostConnection(origin) || needsAnotherConnection(origin)
      throw error
    } finally {
      const release = () => {
        deadline.cancel()
        this.#hints.delete(client)
        client.release(broken)
      }
      const hint = this.#hints.get(client)
      if (hint) void hint.then(release)
      else release()
    }
  }

  async #checkOut(lane: Lane): Promise<PgPoolClient> {
    const pools = await this.#open()
    try {
      return await pools[lane].connect()
    } catch (error) {
      throw connectFailure(error, this)
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
        max: CONNECTIONS[lane],
        min: 0,
        idleTimeoutMillis: IDLE_MS,
        connectionTimeoutMillis: this.#statementMs,
        allowExitOnIdle: true,
      }
      const made = new driver.Pool({ ...settings, ...OURS, ...limits })
      // A connection that ends while nobody uses it is replaced; unheard, its error would end the process.
      made.on('error', () => undefined)
      made.on('connect', client => {
        client.on('error', () => undefined)
        listenForWarnings(client)
      })
      return made
    }
    return { driver, control: pool('control'), work: pool('work') }
  }
}

/** Part of every statement, so it is what it looks like: nothing to quote, and short enough for the names in it. */
export function checkSchema(schema: unknown): string {
  if (typeof schema === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,47}$/.test(schema)) return schema
  throw new ChronosError(
    'INVALID_OPTION',
    `schema: expected 1 to 48 letters, digits or _ that begin with a letter, got ${shown(schema)}`,
  )
}
