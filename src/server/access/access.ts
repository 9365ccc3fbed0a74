import type { Clock, Dice } from '../../core/values/clock.js'
import { present } from '../../core/values/present.js'
import { bodyOf } from '../../engine/records/records.js'
import type { Store } from '../../store/store.js'
import { Problem } from '../http/problem.js'
import { type Authorize, authorizedCaller } from './authorize.js'
import type { Caller } from './caller.js'
import { FailureLimiter } from './failure-limiter.js'
import { checkOrigin } from './origin.js'
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
  readonly request: Request
}

interface SessionRecord {
  /** The token that opened it: its id, or the hash of a configured token. */
  readonly tokenId?: string
  readonly configured?: string
  readonly expiresAt: number
}

interface AccessOptions {
  readonly store: () => Promise<Store>
  readonly tokens: Tokens
  readonly clock: Clock
  readonly dice: Dice
  /** The tokens from the configuration. */
  readonly token?: string
  readonly viewerToken?: string
  /** Whether a token is required while there is none. */
  readonly requireToken: boolean
  /** Replaces tokens and sessions. */
  readonly authorize?: Authorize
  readonly open: boolean
}

type Identity = Pick<Caller, 'id' | 'name' | 'role'>

const ADMIN: Identity = { id: 'admin', name: 'admin', role: 'admin' }
const VIEWER: Identity = { id: 'viewer', name: 'viewer', role: 'viewer' }
/** The caller of a token, and the id or the hash that names the token. */
interface Verified {
  readonly id?: string
  readonly configured?: string
  readonly caller: Caller
}

const ANONYMOUS: Caller = { id: 'anonymous', name: 'anonymous', role: 'admin', by: 'open' }

/** Authenticates requests, and opens and closes sessions. */
export class Access {
  readonly #options: AccessOptions
  readonly #limiter: FailureLimiter
  /** The callers of the configured tokens, by the hash of the token. */
  readonly #configured: ReadonlyMap<string, Identity>
  #isAlwaysRequired: boolean

  constructor(options: AccessOptions) {
    this.#options = options
    this.#limiter = new FailureLimiter(options.clock, FAILURES_MAX, FAILURES_WINDOW_MS)
    const { token, viewerToken } = options
    this.#configured = new Map([
      ...(viewerToken === undefined ? [] : [[hashOf(viewerToken), VIEWER] as const]),
      ...(token === undefined ? [] : [[hashOf(token), ADMIN] as const]),
    ])
    this.#isAlwaysRequired = options.requireToken || options.authorize !== undefined
  }

  /** From now on every request needs a token, even if none is left. */
  require(): void {
    this.#isAlwaysRequired = true
  }

  /** Any token closes the server, because a proxy may pass requests from anywhere on to the loopback address. */
  async isRequired(): Promise<boolean> {
    return this.#isAlwaysRequired || (!this.#options.open && (await this.#options.tokens.exist()))
  }

  /** A browser adds cookies by itself, so a request that is known by them must come from our own pages. */
  async callerOf({ address, authorization, session, request }: Credentials): Promise<Caller> {
    const { authorize, open } = this.#options
    if (authorize) {
      checkOrigin(request)
      return this.#byApplication(authorize, request)
    }
    const known = authorization === undefined || open ? undefined : await this.#verify(bearerOf(authorization))
    if (known) return known.caller
    if (authorization === undefined || session !== undefined || open) checkOrigin(request)
    if (open) return ANONYMOUS
    // The header of a signed-in page may belong to the application around this server.
    const caller = session === undefined ? undefined : await this.#bySession(session)
    if (caller) return caller
    if (authorization !== undefined) throw this.#refusal(bearerOf(authorization), address)
    if (!(await this.isRequired())) return ANONYMOUS
    throw unauthenticated('authentication required: send `Authorization: Bearer …` or sign in')
  }

  /** Pages of the dashboard are public, unless the application decides. */
  async checkPage(request: Request): Promise<void> {
    const { authorize } = this.#options
    if (authorize) await this.#byApplication(authorize, request)
  }

  async #byApplication(authorize: Authorize, request: Request): Promise<Caller> {
    const caller = await authorizedCaller(authorize, request)
    if (caller) return caller
    throw new Problem(401, 'UNAUTHENTICATED', 'authentication required: sign in to the application of this server')
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
    const { authorize, open } = this.#options
    if (authorize || open) {
      throw new Problem(
        409,
        'NOT_ALLOWED',
        'this server does not sign in with tokens: its `authorize` or `open` decides',
      )
    }
    const found = await this.#verify(token)
    if (!found) throw this.#refusal(token, address)
    const { id, configured, caller } = found
    const secret = this.#options.dice.token() + this.#options.dice.token()
    const expiresAt = this.#options.clock.now() + SESSION_MS
    const record: SessionRecord = present({ tokenId: id, configured, expiresAt })
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

  async #verify(token: string | undefined): Promise<Verified | undefined> {
    if (token === undefined) return undefined
    const hash = hashOf(token)
    // Every hash is compared, so that the duration reveals nothing.
    const [own] = [...this.#configured].filter(([known]) => equal(hash, known))
    return own ? { configured: own[0], caller: { ...own[1], by: 'token' } } : this.#options.tokens.verify(token)
  }

  /** Limits only what was refused: wrong tokens from a shared address must not lock out valid ones. */
  #refusal(token: string | undefined, address: string): Problem {
    if (token === undefined) return unauthenticated('Authorization: expected `Bearer TOKEN`')
    const waitMs = this.#limiter.failed(address)
    if (waitMs === 0) return unauthenticated('invalid token: it is unknown, revoked or expired')
    return new Problem(429, 'TOO_MANY_REQUESTS', 'too many invalid tokens from this address; retry later', {
      headers: { 'Retry-After': String(Math.ceil(waitMs / 1000)) },
    })
  }

  async #bySession(secret: string): Promise<Caller | undefined> {
    const [stored] = await (await this.#options.store()).records(SESSION, { ids: [hashOf(secret)] })
    const [session] = stored ? bodyOf<SessionRecord>(stored) : []
    if (!session) return undefined
    const { tokenId, configured, expiresAt } = session
    if (expiresAt <= this.#options.clock.now()) return undefined
    // A session ends with the token that opened it.
    if (tokenId !== undefined) return this.#options.tokens.holder(tokenId)
    const identity = this.#configured.get(configured ?? '')
    return identity && { ...identity, by: 'session' }
  }

  /** Each sign-in also deletes expired sessions. */
  async #sweep(store: Store): Promise<void> {
    const now = this.#options.clock.now()
    const sessions = await store.records(SESSION, { limit: SESSIONS_SWEPT })
    const over = sessions.filter(session => !bodyOf<SessionRecord>(session).some(({ expiresAt }) => expiresAt > now))
    if (over.length === 0) return
    await store.putRecords(over.map(({ id, version }) => ({ kind: SESSION, id, body: null, expect: version })))
  }
}

function bearerOf(authorization: string): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization)?.[1]
}

function unauthenticated(detail: string): Problem {
  return new Problem(401, 'UNAUTHENTICATED', detail, { headers: { 'WWW-Authenticate': 'Bearer realm="chronos"' } })
}
