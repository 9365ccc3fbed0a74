import type { Dice } from './core/values/clock.js'
import { type Duration, toMs } from './core/values/duration.js'
import { ChronosError } from './core/values/error.js'
import { Chronos } from './engine/client/chronos.js'
import type { JobDefinition } from './engine/client/definition.js'
import type { ChronosOptions, WorkOptions } from './engine/client/options.js'
import { type PassOptions, seededDice, VirtualClock } from './engine/time/virtual.js'
import type { Worker } from './engine/worker/worker.js'
import { type Answer, MemoryTransaction } from './store/memory/transaction.js'
import { memoryStore } from './store/memory.js'
import type { Store } from './store/store.js'

export { type Scenario, type Simulation, simulateInput as simulate } from './core/simulation/simulate.js'
export { type PassOptions, seededDice, VirtualClock } from './engine/time/virtual.js'
export type { MemoryTransaction } from './store/memory/transaction.js'

export interface TestOptions extends ChronosOptions {
  readonly jobs: readonly JobDefinition<never>[]
  /** The same seed gives the same jitter. Default 1. */
  readonly seed?: number
  /** The start of virtual time. */
  readonly startAt?: Date
  readonly work?: Omit<WorkOptions, 'signals'>
  /** Another store on the same virtual clock. Default: in memory. */
  readonly store?: (clock: VirtualClock) => Store
}

export interface TestChronos extends Pick<Chronos, 'enqueue' | 'enqueueMany' | 'on' | 'jobs' | 'queues'> {
  readonly chronos: Chronos
  readonly worker: Worker
  readonly clock: VirtualClock
  now(): Date
  /**
   * Runs `work` with a transaction that `enqueue({ tx })` and `job.complete(tx)` join: it commits when `work` resolves, and
   * rolls back when it rejects. `answer` gives the rows of the statements that `work` sends with `tx.query(text, values)`.
   */
  transaction<T>(work: (tx: MemoryTransaction) => Promise<T>, answer?: Answer): Promise<T>
  /** Lets this much virtual time pass and runs everything that falls due. Time stands still while a handler runs. */
  advance(duration: Duration, options?: PassOptions): Promise<void>
  /** Lets time pass until no job waits or runs, at most `within` (default 30 days). */
  drain(options?: PassOptions & { within?: Duration }): Promise<void>
  /** Stops the worker and closes the store. Handlers that still run are aborted and their jobs released. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const DRAIN_WITHIN: Duration = '30d'

/** Chronos with virtual time and seeded random numbers, so that tests never sleep. */
export function testChronos(options: TestOptions): TestChronos {
  const { jobs, seed = 1, startAt, work, store, log = false, ...rest } = options
  const clock = new VirtualClock(startAt?.getTime())
  let opened: Store | undefined
  const open = async (): Promise<Store> => {
    opened = store ? store(clock) : memoryStore({ clock })
    return opened
  }
  const chronos = new Chronos(open, clock, diceOf(seed), { log, retention: false, ...rest })
  const worker = chronos.work(jobs, { ...work, signals: false })

  const isIdle = async (): Promise<boolean> => {
    const live = await chronos.jobs.count({ state: ['waiting', 'running'] }, 1)
    return live.value === 0
  }
  const close = (): Promise<void> => clock.passUntil(chronos.close(), { despite: 'handlers' })

  return {
    chronos,
    worker,
    clock,
    jobs: chronos.jobs,
    queues: chronos.queues,
    enqueue: chronos.enqueue.bind(chronos),
    enqueueMany: chronos.enqueueMany.bind(chronos),
    on: chronos.on.bind(chronos),
    now: () => new Date(clock.now()),
    transaction,
    advance: (duration, options) => clock.advance(toMs(duration, 'advance'), options),
    async drain({ within = DRAIN_WITHIN, ...options } = {}) {
      const until = clock.now() + toMs(within, 'drain: within')
      await clock.settle(options)
      for (let seen: number | undefined; ; ) {
        // A store that knows of changes is asked only after one.
        const changes = opened?.pulse?.()?.changes
        if ((changes === undefined || changes !== seen) && (await isIdle())) return
        seen = changes
        if (!(await clock.step(until, options)))
          throw stillLive(within, await chronos.jobs.list({ state: ['waiting', 'running'] }))
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Resolves after the commit. */
async function transaction<T>(work: (tx: MemoryTransaction) => Promise<T>, answer?: Answer): Promise<T> {
  const tx = new MemoryTransaction(answer)
  try {
    const result = await work(tx)
    tx.commit()
    return result
  } catch (error) {
    if (tx.isOpen) tx.rollback()
    throw error
  }
}

let instances = 0

/** The same seed gives the same numbers. The number of the instance is mixed into its ids, so that no two are equal. */
function diceOf(seed: number): Dice {
  const dice = seededDice(seed)
  const instance = instances++ % 0x1000000
  const mixed = (end: string): string => (Number.parseInt(end, 16) ^ instance).toString(16).padStart(6, '0')
  return { ...dice, id: now => dice.id(now).replace(/.{6}$/, mixed) }
}

function stillLive(within: Duration, live: Awaited<ReturnType<Chronos['jobs']['list']>>): ChronosError {
  const names = live.data.slice(0, 5).map(job => `${job.name} ${job.id} (${job.phase})`)
  return new ChronosError('TIMED_OUT', `drain: after ${within} of virtual time these are not done: ${names.join(', ')}`)
}
