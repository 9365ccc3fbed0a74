import { createHash } from 'node:crypto'
import type { Clock } from '../../core/values/clock.js'
import type { Store } from '../../store/store.js'
import type { Answer } from '../endpoint.js'
import { Problem, problemOf } from './problem.js'

const REPLY = 'reply'
const KEPT_MS = 24 * 3_600_000
/** After this time the process that handled the first request is considered dead. */
const PENDING_MS = 60_000
const SWEPT = 100
const SWEEP_EVERY_MS = 600_000

type Reply =
  | { readonly state: 'pending'; readonly request: string; readonly at: number }
  | { readonly state: 'answered'; readonly request: string; readonly at: number; readonly answer: Remembered }

type Remembered = Pick<Answer, 'status' | 'body' | 'headers' | 'etag'>

/** What identifies a repeated request. */
export interface Repeatable {
  /** See `repeatId`. */
  readonly id: string
  readonly body: string
  /** What the request creates carries the id, so running the request again creates nothing more. */
  readonly isKeyed: boolean
}

/** Identifies a request by caller, route and key: equal keys of two callers are independent. */
export function repeatId(callerId: string, route: string, key: string): string {
  return sha256(`${callerId}\n${route}\n${key}`)
}

/** Stores the responses to requests with an `Idempotency-Key`, and repeats them. */
export class Idempotency {
  readonly #store: () => Promise<Store>
  readonly #clock: Clock
  #sweptAt = 0
  #sweptTo = ''
  /** New answers since the last sweep. */
  #unswept = 0

  constructor(store: () => Promise<Store>, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Runs the request, or returns the stored answer of an earlier one. */
  async once(request: Repeatable, act: () => Promise<Answer>): Promise<Answer> {
    const store = await this.#store()
    const { id } = request
    const body = sha256(request.body)
    const version = await this.#begin(store, request, body)
    if (typeof version !== 'number') return version
    void this.#sweep(store).catch(() => {})
    const answer = await act().catch(async error => {
      // A refused request changed nothing, so its key is free. After any other error it may have taken effect.
      if (request.isKeyed || problemOf(error).status < 500) {
        await store.putRecords([{ kind: REPLY, id, body: null, expect: version }]).catch(() => {})
      }
      throw error
    })
    const reply: Reply = { state: 'answered', request: body, at: this.#clock.now(), answer: repeatable(answer) }
    // The request took effect. Without a stored answer its key stays in use.
    await store.putRecords([write(id, reply)]).catch(() => {})
    return answer
  }

  /** Returns the version of the new record, or the answer of an earlier request. */
  async #begin(store: Store, { id, isKeyed }: Repeatable, request: string): Promise<number | Answer> {
    const now = this.#clock.now()
    const mine = write(id, { state: 'pending', request, at: now })
    const [put] = await store.putRecords([{ ...mine, expect: 0 }])
    if (put!.status === 'written') return put!.version
    const current = put!.current
    const reply = current && (JSON.parse(current.body) as Reply)
    if (!reply || isOver(reply, now, isKeyed)) {
      const [again] = await store.putRecords([{ ...mine, expect: current?.version ?? 0 }])
      if (again!.status === 'written') return again!.version
      throw inUse()
    }
    if (reply.request !== request) {
      const detail = 'Idempotency-Key: the key was used with a different request body; use a new key'
      throw new Problem(422, 'IDEMPOTENCY_KEY_REUSED', detail)
    }
    if (reply.state === 'pending') throw reply.at < now - PENDING_MS ? unknownOutcome() : inUse()
    return { ...reply.answer, headers: { ...reply.answer.headers, 'Idempotency-Replayed': 'true' } }
  }

  /** Deletes old answers, one page at a time: two are looked at for each new one, so that all get their turn. */
  async #sweep(store: Store): Promise<void> {
    const now = this.#clock.now()
    if (now - this.#sweptAt < SWEEP_EVERY_MS && ++this.#unswept < SWEPT / 2) return
    this.#sweptAt = now
    this.#unswept = 0
    const records = await store.records(REPLY, { from: this.#sweptTo, limit: SWEPT })
    this.#sweptTo = records.length < SWEPT ? '' : `${records.at(-1)!.id}\u0001`
    const old = records.filter(({ updatedAt }) => updatedAt < now - KEPT_MS)
    if (old.length > 0) {
      await store.putRecords(old.map(({ id, version }) => ({ kind: REPLY, id, body: null, expect: version })))
    }
  }
}

function isOver({ state, at }: Reply, now: number, isKeyed: boolean): boolean {
  return at < now - (state === 'pending' && isKeyed ? PENDING_MS : KEPT_MS)
}

function unknownOutcome(): Problem {
  const detail =
    'Idempotency-Key: the first request with this key ended without a stored response, and may have taken effect; ' +
    'check whether it did before you send it with a new key'
  return new Problem(409, 'IDEMPOTENCY_OUTCOME_UNKNOWN', detail)
}

function inUse(): Problem {
  const detail = 'Idempotency-Key: the first request with this key is still in progress'
  return new Problem(409, 'IDEMPOTENCY_KEY_IN_USE', detail, { headers: { 'Retry-After': '1' } })
}

/** The answer without secrets, which are sent only once: fields of the body, and the cookie of a new session. */
function repeatable({ once = [], headers = {}, ...rest }: Answer): Remembered {
  const { 'Set-Cookie': _, ...kept } = headers
  const answer = { ...rest, headers: kept }
  if (once.length === 0) return answer
  const body = Object.entries(answer.body as Record<string, unknown>).filter(([name]) => !once.includes(name))
  return { ...answer, body: Object.fromEntries(body) }
}

function write(id: string, reply: Reply): { kind: string; id: string; body: string } {
  return { kind: REPLY, id, body: JSON.stringify(reply) }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
