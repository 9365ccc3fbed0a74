import type { EventName, Events } from '../../../core/job/event.js'
import type { Clock } from '../../../core/values/clock.js'
import type { Chronos } from '../../../engine/client/chronos.js'
import type { Log } from '../../../engine/client/log.js'

/** The engine logs a snoozed run, but emits no event for it. */
export interface Snoozed {
  readonly jobId: string
  readonly name: string
  readonly attempt: number
  readonly run: number
  readonly delayMs: number
  readonly why: string
}

type EngineEvent = { [Name in EventName]: { readonly event: Name } & Events[Name] }[EventName]

type Happening =
  | (EngineEvent & { readonly pid?: number })
  | ({ readonly event: 'job.snoozed' } & Snoozed)
  | { readonly event: 'worker.died'; readonly pid: number; readonly how: string }

/** An event and its time since the start. */
export type DemoEvent = { readonly atMs: number } & Happening

const HEARD = [
  'job.enqueued',
  'job.started',
  'job.retrying',
  'job.succeeded',
  'job.dead',
  'job.cancelled',
  'attempt.failed',
  'lease.lost',
] as const satisfies readonly EventName[]

/** Records events in order and passes each on immediately. */
export class Recorder {
  readonly events: DemoEvent[] = []
  readonly #clock: Clock
  readonly #hear: (event: DemoEvent) => void
  #startedAt: number

  constructor(clock: Clock, hear: (event: DemoEvent) => void) {
    this.#clock = clock
    this.#hear = hear
    this.#startedAt = clock.now()
  }

  begin(): void {
    this.#startedAt = this.#clock.now()
  }

  get elapsedMs(): number {
    return this.#clock.now() - this.#startedAt
  }

  listen(chronos: Chronos): void {
    for (const name of HEARD) chronos.on(name, event => this.record({ event: name, ...event } as EngineEvent))
  }

  record(happening: Happening): void {
    const event: DemoEvent = { atMs: this.elapsedMs, ...happening }
    this.events.push(event)
    this.#hear(event)
  }

  /** The same log, which also records snoozed runs. */
  tap(log: Log): Log {
    return {
      debug: log.debug.bind(log),
      warn: log.warn.bind(log),
      error: log.error.bind(log),
      isLevelEnabled: log.isLevelEnabled.bind(log),
      info: (line: Readonly<Record<string, unknown>>, message: string) => {
        if (line['event'] === 'job.snoozed') this.record(snoozed(line as unknown as Snoozed))
        log.info(line, message)
      },
    } as Log
  }
}

function snoozed({ jobId, name, attempt, run, delayMs, why }: Snoozed): Happening {
  return { event: 'job.snoozed', jobId, name, attempt, run, delayMs, why }
}
