import type { Clock } from '../core/values/clock.js'
import type { Chronos } from '../engine/client/chronos.js'

export interface Check {
  readonly name: string
  readonly isOk: boolean
  readonly detail: string
}

export interface Readiness {
  readonly isReady: boolean
  readonly checks: readonly Check[]
}

const PATIENCE_MS = 2_000
/** However often somebody asks, the store is asked once a second. */
const KNOWN_MS = 1_000

/** Whether this process can do its work. */
export class Health {
  readonly #chronos: Chronos
  readonly #clock: Clock
  #known: { readonly check: Promise<Check>; readonly until: number } | undefined
  readonly startedAt: number
  /** It will stop soon: nobody should send it anything new. */
  isDraining = false

  constructor(chronos: Chronos, clock: Clock) {
    this.#chronos = chronos
    this.#clock = clock
    this.startedAt = clock.now()
  }

  async readiness(): Promise<Readiness> {
    const draining: Check = this.isDraining
      ? { name: 'server', isOk: false, detail: 'is shutting down' }
      : { name: 'server', isOk: true, detail: 'takes requests' }
    const checks = [draining, await this.#store()]
    return { isReady: checks.every(({ isOk }) => isOk), checks }
  }

  #store(): Promise<Check> {
    const now = this.#clock.now()
    if (!this.#known || this.#known.until <= now) this.#known = { check: this.#ask(), until: now + KNOWN_MS }
    return this.#known.check
  }

  async #ask(): Promise<Check> {
    const answer = this.#chronos.info().then(
      ({ engine, schemaVersion }): Check => ({
        name: 'store',
        isOk: true,
        detail: `${engine}, schema ${schemaVersion}`,
      }),
      (error: unknown): Check => ({
        name: 'store',
        isOk: false,
        detail: error instanceof Error ? error.message : String(error),
      }),
    )
    let timer: { cancel(): void } | undefined
    const silence = new Promise<Check>(resolve => {
      timer = this.#clock.timer(PATIENCE_MS, () =>
        resolve({ name: 'store', isOk: false, detail: `no answer within ${PATIENCE_MS / 1000} s` }),
      )
    })
    const check = await Promise.race([answer, silence])
    timer?.cancel()
    return check
  }
}
