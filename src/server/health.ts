import type { Clock } from '../core/values/clock.js'
import { anyText, boolean, type Infer } from '../core/values/schema.js'
import { view } from '../core/values/shape.js'
import type { Chronos } from '../engine/client/chronos.js'
import { within } from './http/timeout.js'

export const check = view({ name: anyText, isOk: boolean, detail: anyText })
export type Check = Infer<typeof check>

export interface Readiness {
  readonly isReady: boolean
  readonly checks: readonly Check[]
}

const PATIENCE_MS = 2_000
/** The store is asked at most once a second, however many probes there are. */
const KNOWN_MS = 1_000

/** Readiness of this process. */
export class Health {
  readonly #chronos: Chronos
  readonly #clock: Clock
  #known: { readonly check: Promise<Check>; readonly until: number } | undefined
  readonly startedAt: number
  /** The server will stop soon and should get no new requests. */
  isDraining = false

  constructor(chronos: Chronos, clock: Clock) {
    this.#chronos = chronos
    this.#clock = clock
    this.startedAt = clock.now()
  }

  /** For probes, which don't authenticate: an error of the store may name its host and user. */
  async publicReadiness(): Promise<Readiness> {
    const { isReady, checks } = await this.readiness()
    const safe = checks.map(check =>
      check.name === 'store' ? storeCheck(check.isOk, check.isOk ? 'available' : 'unavailable') : check,
    )
    return { isReady, checks: safe }
  }

  async readiness(): Promise<Readiness> {
    const draining: Check = this.isDraining
      ? { name: 'server', isOk: false, detail: 'is shutting down' }
      : { name: 'server', isOk: true, detail: 'accepts requests' }
    const checks = [draining, await this.#store()]
    return { isReady: checks.every(({ isOk }) => isOk), checks }
  }

  #store(): Promise<Check> {
    const now = this.#clock.now()
    if (!this.#known || this.#known.until <= now) this.#known = { check: this.#ask(), until: now + KNOWN_MS }
    return this.#known.check
  }

  #ask(): Promise<Check> {
    const answer = this.#chronos.info().then(
      ({ engine, schemaVersion }) => storeCheck(true, `${engine}, schema ${schemaVersion}`),
      (error: unknown) => storeCheck(false, error instanceof Error ? error.message : String(error)),
    )
    return within(this.#clock, PATIENCE_MS, answer, () => storeCheck(false, `no answer within ${PATIENCE_MS / 1000} s`))
  }
}

const storeCheck = (isOk: boolean, detail: string): Check => ({ name: 'store', isOk, detail })
