import { createHash, timingSafeEqual } from 'node:crypto'
import { timeText } from '../../core/job/view.js'
import type { Clock, Dice } from '../../core/values/clock.js'
import { type Duration, toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { checkText, checkWord } from '../../core/values/limits.js'
import type { Store } from '../../store/store.js'
import { type Caller, ROLES, type Role } from './caller.js'

const TOKEN = 'token'
const TOKENS_MAX = 10_000
const PREFIX = 'chr'
/** Revoked elsewhere, a token may be believed for so long. */
const BELIEVED_MS = 5_000
const BELIEVED_MAX = 1_000
/** How exactly it is known when a token was last used. */
const USED_EVERY_MS = 60_000
const YEARS_MAX_MS = 10 * 365 * 86_400_000

export interface TokenInput {
  readonly name: string
  readonly role: Role
  /** One tenant that it is for; it sees and touches nothing else. */
  readonly tenantId?: string
  readonly expiresIn?: Duration
}

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

export interface TokenView {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly tenantId?: string
  readonly createdAt: string
  readonly expiresAt?: string
  /** To the minute. */
  readonly usedAt?: string
}

/** A token as it is told, once. */
export interface NewToken extends TokenView {
  readonly token: string
}

interface Believed {
  readonly record: TokenRecord
  readonly until: number
}

/** Who may come in. Only hashes are kept. */
export class Tokens {
  readonly #store: () => Promise<Store>
  readonly #clock: Clock
  readonly #dice: Dice
  readonly #believed = new Map<string, Believed>()
  readonly #noted = new Map<string, number>()

  constructor(store: () => Promise<Store>, clock: Clock, dice: Dice) {
    this.#store = store
    this.#clock = clock
    this.#dice = dice
  }

  async create(input: TokenInput): Promise<NewToken> {
    const { name, role, tenantId, expiresIn } = input
    checkText(name, 'token: name', 100)
    checkWord(role, ROLES, 'token: role')
    if (tenantId !== undefined) checkText(tenantId, 'token: tenantId')
    const now = this.#clock.now()
    const id = this.#dice.id(now)
    const secret = this.#dice.token() + this.#dice.token()
    const record: TokenRecord = {
      id,
      name,
      role,
      ...(tenantId !== undefined && { tenantId }),
      hash: hashOf(secret),
      createdAt: now,
      ...(expiresIn !== undefined && {
        expiresAt: now + toMs(expiresIn, 'token: expiresIn', { min: 1000, max: YEARS_MAX_MS }),
      }),
    }
    const store = await this.#store()
    await store.putRecords([{ kind: TOKEN, id, body: JSON.stringify(record), expect: 0 }])
    return { ...viewToken(record), token: `${PREFIX}_${id}_${secret}` }
  }

  /** Newest first. */
  async list(): Promise<readonly TokenView[]> {
    const records = await (await this.#store()).records(TOKEN, { limit: TOKENS_MAX, order: 'down' })
    return records.map(({ body }) => viewToken(JSON.parse(body) as TokenRecord))
  }

  async revoke(id: string): Promise<void> {
    const store = await this.#store()
    const [record] = await store.records(TOKEN, { ids: [id] })
    if (!record) throw new ChronosError('NOT_FOUND', `there is no token ${shown(id)}; the list of tokens has them all`)
    await store.putRecords([{ kind: TOKEN, id, body: null }])
    this.#believed.delete(id)
  }

  async any(): Promise<boolean> {
    return (await (await this.#store()).records(TOKEN, { limit: 1 })).length > 0
  }

  /** Whose token it is; undefined for one that is unknown, revoked or out of time. */
  async verify(token: string): Promise<{ readonly id: string; readonly caller: Caller } | undefined> {
    const [prefix, id, secret, ...more] = token.split('_')
    if (prefix !== PREFIX || !id || !secret || more.length > 0 || id.length > 64) return undefined
    const record = await this.#find(id)
    if (!record || !equal(hashOf(secret), record.hash)) return undefined
    this.#noteUse(record)
    return { id, caller: callerOf(record, 'token') }
  }

  /** Whoever has the token of this id, as long as it is good. */
  async holder(id: string): Promise<Caller | undefined> {
    const record = await this.#find(id)
    return record && callerOf(record, 'session')
  }

  async #find(id: string): Promise<TokenRecord | undefined> {
    const now = this.#clock.now()
    const believed = this.#believed.get(id)
    const record = believed && believed.until > now ? believed.record : await this.#read(id, now)
    return record && (record.expiresAt === undefined || record.expiresAt > now) ? record : undefined
  }

  async #read(id: string, now: number): Promise<TokenRecord | undefined> {
    const [stored] = await (await this.#store()).records(TOKEN, { ids: [id] })
    if (!stored) {
      this.#believed.delete(id)
      return undefined
    }
    const record = JSON.parse(stored.body) as TokenRecord
    if (this.#believed.size >= BELIEVED_MAX) this.#believed.clear()
    this.#believed.set(id, { record, until: now + BELIEVED_MS })
    return record
  }

  /** A courtesy for people who tidy up: nobody waits for it, and nothing fails by it. */
  #noteUse({ id }: TokenRecord): void {
    const now = this.#clock.now()
    if ((this.#noted.get(id) ?? 0) > now - USED_EVERY_MS) return
    if (this.#noted.size >= BELIEVED_MAX) this.#noted.clear()
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

/** In the same time, wherever they differ. */
export function equal(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

function callerOf({ name, role, tenantId }: TokenRecord, by: Caller['by']): Caller {
  return { name, role, by, ...(tenantId !== undefined && { tenantId }) }
}

function viewToken({ id, name, role, tenantId, createdAt, expiresAt, usedAt }: TokenRecord): TokenView {
  return {
    id,
    name,
    role,
    ...(tenantId !== undefined && { tenantId }),
    createdAt: timeText(createdAt),
    ...(expiresAt !== undefined && { expiresAt: timeText(expiresAt) }),
    ...(usedAt !== undefined && { usedAt: timeText(usedAt) }),
  }
}
