import { type Duration, toMs } from './core/values/duration.js'
import { ChronosError } from './core/values/error.js'
import { Chronos } from './engine/client/chronos.js'
import type { JobDefinition } from './engine/client/definition.js'
import type { ChronosOptions, WorkOptions } from './engine/client/options.js'
import { turn } from './engine/time/system.js'
import { seededDice, VirtualClock } from './engine/time/virtual.js'
import type { Worker } from './engine/worker/worker.js'
import { memoryStore } from './store/memory.js'
import type { Store } from './store/store.js'

export { seededDice, VirtualClock } from './engine/time/virtual.js'

export interface TestOptions extends ChronosOptions {
  readonly jobs: readonly JobDefinition<never>[]
  /** The same seed draws the same jitter. Default 1. */
  readonly seed?: number
  /** Where virtual time begins. */
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
  /** Lets this much virtual time pass, running everything that falls due in it. */
  advance(duration: Duration): Promise<void>
  /** Lets time pass until no job waits or runs; `within` (default 30 days) bounds what it will live through. */
  drain(options?: { within?: Duration }): Promise<void>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

// Nobody outside the test adds work: looking for it less often makes days of virtual time cheap.
const POLL: Duration = '1h'
const LEASE: Duration = '1h'
const PACE = {
  queuesMs: 60_000,
  sweepMs: 60_000,
  foldMs: 600_000,
  redrivesMs: 600_000,
  dependenciesMs: 600_000,
  fleetMs: 600_000,
  schedulesMs: 600_000,
  scheduleChangesMs: 600_000,
  alertsMs: 600_000,
  deliveriesMs: 3_600_000,
  webhookChangesMs: 600_000,
  webhooksMs: 600_000,
}
const DRAIN_WITHIN: Duration = '30d'
/** Turns of the real event loop that a handler with real I/O is waited for before virtual time goes on. */
const PATIENCE_TURNS = 20

/** Chronos on virtual time and seeded dice: no test has to sleep. */
export function testChronos(options: TestOptions): TestChronos {
  const { jobs, seed = 1, startAt, work, store, log = false, ...rest } = options
  const clock = new VirtualClock(startAt?.getTime())
  const open = store ? () => store(clock) : () => memoryStore({ clock })
  const chronos = new Chronos(async () => open(), clock, seededDice(seed), { log, ...rest }, PACE)
  const worker = chronos.work(jobs, { lease: LEASE, poll: POLL, ...work, signals: false })

  const isIdle = async (): Promise<boolean> => {
    const live = await chronos.jobs.count({ state: ['waiting', 'running'] }, 1)
    return live.value === 0
  }
  const patiently = async (): Promise<void> => {
    await clock.settle()
    for (let turns = 0; turns < PATIENCE_TURNS && worker.getStats().running > 0; turns++) await turn()
    await clock.settle()
  }

  const close = async (): Promise<void> => {
    const closing = chronos.close()
    let closed = false
    void closing.finally(() => {
      closed = true
    })
    // Files are closed in real time, during which none must pass here; stopping waits for the grace, for which it must.
    do for (let turns = 0; turns < PATIENCE_TURNS && !closed; turns++) await turn()
    while (!closed && (await clock.step(Number.POSITIVE_INFINITY)))
    await closing
  }

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
    async advance(duration) {
      const until = clock.now() + toMs(duration, 'advance')
      await patiently()
      while (await clock.step(until)) await patiently()
      await clock.advance(until - clock.now())
    },
    async drain({ within = DRAIN_WITHIN } = {}) {
      const until = clock.now() + toMs(within, 'drain: within')
      await patiently()
      while (!(await isIdle())) {
        if (!(await clock.step(until)))
          throw stillLive(within, await chronos.jobs.list({ state: ['waiting', 'running'] }))
        await patiently()
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function stillLive(within: Duration, live: Awaited<ReturnType<Chronos['jobs']['list']>>): ChronosError {
  const names = live.data.slice(0, 5).map(job => `${job.name} ${job.id} (${job.phase})`)
  return new ChronosError('TIMED_OUT', `drain: after ${within} of virtual time these are not done: ${names.join(', ')}`)
}
