import { createHash, timingSafeEqual } from 'node:crypto'
import { timeText } from '../../core/job/view.js'
import { ROLES, type TokenInput, tokenInput } from '../../core/token/token.js'
import type { Clock, Dice } from '../../core/values/clock.js'
import { toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { about, anyText, type Infer, named, oneOf, read } from '../../core/values/schema.js'
import { view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import { bodyOf } from '../../engine/records/records.js'
import type { Store } from '../../store/store.js'
import type { Caller, Role } from './caller.js'

export const TOKEN = 'token'
const TOKENS_MAX = 10_000
const PREFIX = 'chr'
/** How long a token that another server revoked may still be accepted; with the check of streams, less than five seconds. */
const CACHED_MS = 2_500
const CACHED_MAX = 1_000
/** The precision of `usedAt`. */
const USED_EVERY_MS = 60_000

export type { TokenInput } from '../../core/token/token.js'

interface TokenRecord {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly tenantId?: string
  readonly hash: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly usedAt?: number
}

export const tokenView = named(
  'Token',
  view(
    { id: anyText, name: anyText, role: oneOf(ROLES), createdAt: timestamp },
    { tenantId: anyText, expiresAt: timestamp, usedAt: about(timestamp, 'Precise to the minute.') },
  ),
)
export type TokenView = Infer<typeof tokenView>

/** A new token with its secret, which is shown only once. */
export interface NewToken extends TokenView {
  readonly token: string
}

interface Cached {
  readonly record: TokenRecord
  readonly until: number
}

/** API tokens. Only hashes of their secrets are stored. */
export class Tokens {
  readonly #store: () => Promise<Store>
  readonly #clock: Clock
  readonly #dice: Dice
  readonly #cached = new Map<string, Cached>()
  readonly #noted = new Map<string, number>()
  #existing: { readonly isSo: boolean; readonly until: number } | undefined

  constructor(store: () => Promise<Store>, clock: Clock, dice: Dice) {
    this.#store = store
    this.#clock = clock
    this.#dice = dice
  }

  async create(input: TokenInput): Promise<NewToken> {
    const { name, role, tenantId, expiresIn } = read(tokenInput, input, 'token:')
    const now = this.#clock.now()
    const id = this.#dice.id(now)
    const secret = this.#dice.token() + this.#dice.token()
    const record: TokenRecord = present({
      id,
      name,
      role,
      tenantId,
      hash: hashOf(secret),
      createdAt: now,
      expiresAt:
        expiresIn === undefined ? undefined : now + toMs(expiresIn, 'expiresIn', { max: Number.MAX_SAFE_INTEGER }),
    })
    const store = await this.#store()
    await store.putRecords([{ kind: TOKEN, id, body: JSON.stringify(record), expect: 0 }])
    this.#existing = undefined
    return { ...viewToken(record), token: `${PREFIX}_${id}_${secret}` }
  }

  /** Newest first. */
  async list(): Promise<readonly TokenView[]> {
    const records = await (await this.#store()).records(TOKEN, { limit: TOKENS_MAX, order: 'down' })
    return records.flatMap(bodyOf<TokenRecord>).map(viewToken)
  }

  async revoke(id: string): Promise<void> {
    const store = await this.#store()
    const [record] = await store.records(TOKEN, { ids: [id] })
    if (!record) throw new ChronosError('NOT_FOUND', `there is no token ${shown(id)}`)
    await store.putRecords([{ kind: TOKEN, id, body: null }])
    this.#cached.delete(id)
    this.#existing = undefined
  }

  /** Whether there is a token. Asked with every request that has none, so the answer is kept for a while. */
  async exist(): Promise<boolean> {
    const now = this.#clock.now()
    if (this.#existing === undefined || this.#existing.until <= now) {
      const isSo = await this.#areStored().catch(error => {
        // While the store is down, the last answer is better than none: the server still says what is wrong.
        if (this.#existing === undefined) throw error
        return this.#existing.isSo
      })
      this.#existing = { isSo, until: now + CACHED_MS }
    }
    return this.#existing.isSo
  }

  async #areStored(): Promise<boolean> {
    return (await (await this.#store()).records(TOKEN, { limit: 1 })).length > 0
  }

  /** The caller that the token belongs to; undefined if it is unknown, revoked or expired. */
  async verify(token: string): Promise<{ readonly id: string; readonly caller: Caller } | undefined> {
    const [prefix, id, secret, ...more] = token.split('_')
    if (prefix !== PREFIX || !id || !secret || more.length > 0 || id.length > 64) return undefined
    const record = await this.#find(id)
    if (!record || !equal(hashOf(secret), record.hash)) return undefined
    this.#noteUse(record)
    return { id, caller: callerOf(record, 'token') }
  }

  /** The caller of a session that the token opened, while the token is valid. */
  async holder(id: string): Promise<Caller | undefined> {
    const record = await this.#find(id)
    return record && callerOf(record, 'session')
  }

  async #find(id: string): Promise<TokenRecord | undefined> {
    const now = this.#clock.now()
    const cached = this.#cached.get(id)
    const record = cached && cached.until > now ? cached.record : await this.#read(id, now)
    return record && (record.expiresAt === undefined || record.expiresAt > now) ? record : undefined
  }

  async #read(id: string, now: number): Promise<TokenRecord | undefined> {
    const [stored] = await (await this.#store()).records(TOKEN, { ids: [id] })
    if (!stored) {
      this.#cached.delete(id)
      return undefined
    }
    const record = JSON.parse(stored.body) as TokenRecord
    if (this.#cached.size >= CACHED_MAX) this.#cached.clear()
    this.#cached.set(id, { record, until: now + CACHED_MS })
    return record
  }

  /** `usedAt` helps to find unused tokens; the request neither waits for it nor fails with it. */
  #noteUse({ id }: TokenRecord): void {
    const now = this.#clock.now()
    if ((this.#noted.get(id) ?? 0) > now - USED_EVERY_MS) return
    if (this.#noted.size >= CACHED_MAX) this.#noted.clear()
    this.#noted.set(id, now)
    void this.#writeUse(id, now).catch(() => {})
  }

  async #writeUse(id: string, now: number): Promise<void> {
    const store = await this.#store()
    const [stored] = await store.records(TOKEN, { ids: [id] })
    if (!stored) return
    const next: TokenRecord = { ...(JSON.parse(stored.body) as TokenRecord), usedAt: now }
    await store.putRecords([{ kind: TOKEN, id, body: JSON.stringify(next), expect: stored.version }])
  }
}

export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** Compares in constant time. */
export function equal(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

function callerOf({ id, name, role, tenantId }: TokenRecord, by: Caller['by']): Caller {
  return present({ id, name, role, by, tenantId })
}

function viewToken({ id, name, role, tenantId, createdAt, expiresAt, usedAt }: TokenRecord): TokenView {
  return present({
    id,
    name,
    role,
    tenantId,
    createdAt: timeText(createdAt),
    expiresAt: timeText(expiresAt),
    usedAt: timeText(usedAt),
  })
}
