import type { Notice } from '../../../src/core/alert/alert.js'
import type { Clock } from '../../../src/core/values/clock.js'
import { type Duration, toMs } from '../../../src/core/values/duration.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import type { ChronosOptions } from '../../../src/engine/client/options.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import { PACE } from '../../../src/engine/upkeep/maintenance.js'
import type { Store } from '../../../src/store/store.js'

/** Rare looks of the loops that alerts do not need keep virtual hours cheap. */
const CALM = {
  ...PACE,
  alertsMs: 15_000,
  queuesMs: 600_000,
  sweepMs: 600_000,
  foldMs: 600_000,
  redrivesMs: 600_000,
  dependenciesMs: 600_000,
  schedulesMs: 600_000,
  scheduleChangesMs: 600_000,
  deliveriesMs: 600_000,
  webhookChangesMs: 600_000,
  webhooksMs: 600_000,
}

export interface Told {
  readonly notice: Notice
  readonly rule: string
  readonly atMs: number
  readonly value: number
  readonly labels: Readonly<Record<string, string>>
  readonly summary: string
}

/** Does what its payload says: how often it fails before it succeeds. */
export const work = defineJob<{ fails: number }, void>({
  name: 'work',
  queue: 'payments',
  retry: { maxRetries: 1, backoff: { type: 'fixed', delay: '1s' } },
  run({ fails }, job) {
    if (job.attempt <= fails) throw new Error('no')
  },
})

/** Fails once, and has to wait long for its retry. */
export const late = defineJob<unknown, void>({
  name: 'late',
  queue: 'payments',
  retry: { maxRetries: 1, backoff: { type: 'fixed', delay: '12m' }, jitter: 'none' },
  run(_, job) {
    if (job.attempt === 1) throw new Error('no')
  },
})

/** One store, and processes on it that come and go. */
export class World {
  readonly clock = new VirtualClock()
  readonly store: Store
  /** What people were told, by all processes together; minutes are since the beginning. */
  readonly told: Told[] = []
  readonly #from = this.clock.now()
  readonly #processes: Chronos[] = []
  #seed = 0

  constructor(open: (clock: Clock) => Store) {
    const store = open(this.clock)
    // Who closes a process closes its store; here they share one.
    this.store = new Proxy(store, {
      get: (target, key) => (key === 'close' ? async () => undefined : Reflect.get(target, key, target)),
    })
  }

  /** Its worker takes jobs of these queues. */
  start(options: ChronosOptions = {}, queues = ['payments']): Chronos {
    this.#seed += 1
    const chronos = new Chronos(
      async () => this.store,
      this.clock,
      seededDice(this.#seed),
      { log: false, ...options },
      CALM,
    )
    const note = (notice: Notice, { rule, value, labels, summary }: Omit<Told, 'notice' | 'atMs'>): void =>
      void this.told.push({ notice, rule, value, labels, summary, atMs: this.clock.now() - this.#from })
    chronos.on('alert.firing', ({ alert, isRepeat }) => note(isRepeat ? 'repeat' : 'firing', alert))
    chronos.on('alert.resolved', ({ alert }) => note('resolved', alert))
    chronos.work([work, late], { queues, signals: false, poll: '10m', lease: '1h', concurrency: 500 })
    this.#processes.push(chronos)
    return chronos
  }

  /** Short: what was told, of which rule, in which second. */
  heard(): readonly string[] {
    return this.told.map(({ notice, rule, atMs }) => `${notice} ${rule} ${Math.floor(atMs / 1000)}s`)
  }

  advance(duration: Duration): Promise<void> {
    return this.clock.advance(toMs(duration, 'advance'))
  }

  async stop(chronos: Chronos): Promise<void> {
    this.#processes.splice(this.#processes.indexOf(chronos), 1)
    await this.clock.passUntil(chronos.close())
  }

  async close(): Promise<void> {
    for (const chronos of [...this.#processes]) await this.stop(chronos)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** So many jobs that run out of retries. */
export async function die(world: World, chronos: Chronos, count: number): Promise<void> {
  await chronos.enqueueMany(
    work,
    Array.from({ length: count }, () => ({ fails: 9 })),
  )
  await world.advance('2s')
}
