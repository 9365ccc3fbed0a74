import type { Clock, Dice } from '../../core/values/clock.js'
import type { Store } from '../../store/store.js'
import { Problem } from '../http/problem.js'
import type { Caller } from './caller.js'
import { FailureLimiter } from './failure-limiter.js'
import { equal, hashOf, type Tokens } from './tokens.js'

const SESSION = 'session'
export const SESSION_COOKIE = 'chronos_session'
export const SESSION_MS = 12 * 3_600_000
const SESSIONS_SWEPT = 1_000
const FAILURES_MAX = 10
const FAILURES_WINDOW_MS = 60_000

/** The credentials of a request. */
export interface Credentials {
  /** The client's address, for counting failures. */
  readonly address: string
  readonly authorization?: string | undefined
  readonly session?: string | undefined
}

interface SessionRecord {
  /** The token that opened it: its id, or the hash of the configured token. */
  readonly tokenId?: string
  readonly configured?: string
  readonly expiresAt: number
}

interface AccessOptions {
  readonly store: () => Promise<Store>
  readonly tokens: Tokens
  readonly clock: Clock
  readonly dice: Dice
  /** The token from the configuration. */
  readonly token: string | undefined
}

const ADMIN = { id: 'admin', name: 'admin', role: 'admin' } as const
const ANONYMOUS: Caller = { id: 'anonymous', name: 'anonymous', role: 'admin', by: 'open' }

/** Authenticates requests, and opens and closes sessions. */
export class Access {
  readonly #options: AccessOptions
  readonly #limiter: FailureLimiter
  readonly #configured: string | undefined
  #isAlwaysRequired: boolean

  constructor(options: AccessOptions) {
    this.#options = options
    this.#limiter = new FailureLimiter(options.clock, FAILURES_MAX, FAILURES_WINDOW_MS)
    this.#configured = options.token === undefined ? undefined : hashOf(options.token)
    this.#isAlwaysRequired = options.token !== undefined
  }

  /** From now on every request needs a token, even if none is left. */
  require(): void {
    this.#isAlwaysRequired = true
  }

  /** Any token closes the server, because a proxy may pass requests from anywhere on to the loopback address. */
  async isRequired(): Promise<boolean> {
    return this.#isAlwaysRequired || this.#options.tokens.exist()
  }

  async callerOf({ address, authorization, session }: Credentials): Promise<Caller> {
    if (authorization !== undefined) return (await this.#byToken(bearerOf(authorization), address)).caller
    const caller = session === undefined ? undefined : await this.#bySession(session)
    if (caller) return caller
    if (!(await this.isRequired())) return ANONYMOUS
    throw unauthenticated('authentication required: send `Authorization: Bearer …` or sign in')
  }

  /** Whether these credentials are still good. An error of the store is no reason to end a stream. */
  async isValid(credentials: Credentials): Promise<boolean> {
    try {
      await this.callerOf(credentials)
      return true
    } catch (error) {
      return !(error instanceof Problem)
    }
  }

  /** Signs in; returns the secret of the new session and its caller. */
  async open(token: string, address: string): Promise<{ readonly secret: string; readonly caller: Caller }> {
    const { id, caller } = await this.#byToken(token, address)
    const secret = this.#options.dice.token() + this.#options.dice.token()
    const expiresAt = this.#options.clock.now() + SESSION_MS
    const record: SessionRecord =
      id === undefined ? { configured: this.#configured!, expiresAt } : { tokenId: id, expiresAt }
    const store = await this.#options.store()
    await this.#sweep(store)
    await store.putRecords([{ kind: SESSION, id: hashOf(secret), body: JSON.stringify(record) }])
    return { secret, caller: { ...caller, by: 'session' } }
  }

  /** Signs out; returns the caller whose session it was, if there was one. */
  async close(secret: string): Promise<Caller | undefined> {
    const caller = await this.#bySession(secret)
    if (caller) await (await this.#options.store()).putRecords([{ kind: SESSION, id: hashOf(secret), body: null }])
    return caller
  }

  /** Verifies before it limits: wrong tokens from a shared address must not lock out valid ones. */
  async #byToken(token: string, address: string): Promise<{ readonly id?: string; readonly caller: Caller }> {
    const found = this.#isConfigured(token)
      ? { caller: { ...ADMIN, by: 'token' } as const }
      : await this.#options.tokens.verify(token)
    if (found) return found
    const waitMs = this.#limiter.failed(address)
    if (waitMs === 0) throw unauthenticated('invalid token: it is unknown, revoked or expired')
    throw new Problem(429, 'TOO_MANY_REQUESTS', 'too many invalid tokens from this address; retry later', {
      headers: { 'Retry-After': String(Math.ceil(waitMs / 1000)) },
    })
  }

  #isConfigured(token: string): boolean {
    return this.#configured !== undefined && equal(hashOf(token), this.#configured)
  }

  async #bySession(secret: string): Promise<Caller | undefined> {
    const [stored] = await (await this.#options.store()).records(SESSION, { ids: [hashOf(secret)] })
    if (!stored) return undefined
    const { tokenId, configured, expiresAt } = JSON.parse(stored.body) as SessionRecord
    if (expiresAt <= this.#options.clock.now()) return undefined
    // A session ends with the token that opened it.
    if (tokenId !== undefined) return this.#options.tokens.holder(tokenId)
    return configured === this.#configured ? { ...ADMIN, by: 'session' } : undefined
  }

  /** Each sign-in also deletes expired sessions. */
  async #sweep(store: Store): Promise<void> {
    const now = this.#options.clock.now()
    const sessions = await store.records(SESSION, { limit: SESSIONS_SWEPT })
    const over = sessions.filter(({ body }) => (JSON.parse(body) as SessionRecord).expiresAt <= now)
    if (over.length === 0) return
    await store.putRecords(over.map(({ id, version }) => ({ kind: SESSION, id, body: null, expect: version })))
  }
}

function bearerOf(authorization: string): string {
  const [, token] = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization) ?? []
  if (token !== undefined) return token
  throw unauthenticated('Authorization: expected `Bearer TOKEN`')
}

function unauthenticated(detail: string): Problem {
  return new Problem(401, 'UNAUTHENTICATED', detail, { headers: { 'WWW-Authenticate': 'Bearer realm="chronos"' } })
}
