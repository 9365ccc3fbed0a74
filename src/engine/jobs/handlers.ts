import { type Count, count } from '../../core/values/count.js'
import { shown } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { anyText, type Infer } from '../../core/values/schema.js'
import { view } from '../../core/values/shape.js'
import { suggest } from '../../core/values/suggest.js'
import type { RecordWrite } from '../../store/record.js'
import type { Store } from '../../store/store.js'
import type { Connection } from '../client/connection.js'
import { bodyOf } from '../records/records.js'
import { EVERY_NAME, HANDLER, isAlive, knows, WORKER, WORKERS_MAX, type WorkerRecord } from '../worker/fleet.js'

/** Each queue and name of a job that a worker met without having a handler for it is a record. */
export const UNHANDLED = 'unhandled'
const NAMES_MAX = 1_000
const COUNT_MAX = 10_000

export interface UnhandledRecord {
  readonly queue: string
  readonly name: string
  readonly seenAt: number
}

/** Waiting jobs that no live worker of their queue has a handler for. */
export const unhandledView = view({ queue: anyText, name: anyText, waiting: count }, { similar: anyText })
export type UnhandledView = Infer<typeof unhandledView>

export function unhandledWrite({ queue, name, seenAt }: UnhandledRecord): RecordWrite {
  return { kind: UNHANDLED, id: `${queue} ${name}`, body: JSON.stringify({ queue, name, seenAt }) }
}

/** A queue without any worker is left out: it has a greater problem than one name. */
export async function unhandledJobs(store: Store, now: number): Promise<readonly UnhandledView[]> {
  const met = await store.records(UNHANDLED, { limit: NAMES_MAX })
  if (met.length === 0) return []
  const workers = await liveWorkers(store, now)
  const pairs = met.flatMap(bodyOf<UnhandledRecord>).filter(pair => isUnhandled(pair, workers))
  const counted = await Promise.all(
    pairs.map(async ({ queue, name }) => ({
      queue,
      name,
      waiting: (await store.count({ state: 'waiting', queue, name }, COUNT_MAX)) satisfies Count,
      ...present({ similar: suggest(name, namesOf(workers)) }),
    })),
  )
  return counted.filter(({ waiting }) => waiting.value > 0)
}

function isUnhandled({ queue, name }: UnhandledRecord, workers: readonly WorkerRecord[]): boolean {
  const own = workers.filter(({ queues }) => queues.includes(queue))
  return own.length > 0 && !own.some(worker => knows(worker, name))
}

export async function liveWorkers(store: Store, now: number): Promise<readonly WorkerRecord[]> {
  const records = await store.records(WORKER, { limit: WORKERS_MAX, order: 'down' })
  return records.flatMap(bodyOf<WorkerRecord>).filter(worker => isAlive(worker, now))
}

export const namesOf = (workers: readonly WorkerRecord[]): readonly string[] =>
  [...new Set(workers.flatMap(({ names }) => names))].filter(name => name !== EVERY_NAME)

/** How long an answer about an unknown name is kept. */
const KEPT_MS = 10_000

/** Which names workers have announced. It is asked with each enqueue by name, so the answers are kept. */
export class AnnouncedNames {
  readonly #connection: Connection
  readonly #now: () => number
  readonly #known = new Set<string>()
  readonly #unknown = new Map<string, { readonly warning: string | undefined; readonly until: number }>()

  constructor(connection: Connection, now: () => number) {
    this.#connection = connection
    this.#now = now
  }

  /** A sentence about a name that no worker has ever announced; undefined while no worker has announced any. */
  async warningFor(name: string): Promise<string | undefined> {
    if (this.#known.has(name)) return undefined
    const kept = this.#unknown.get(name)
    if (kept && kept.until > this.#now()) return kept.warning
    if (this.#unknown.size >= NAMES_MAX) this.#unknown.clear()
    const warning = await this.#ask(name)
    if (!this.#known.has(name)) this.#unknown.set(name, { warning, until: this.#now() + KEPT_MS })
    return warning
  }

  /** An enqueue never fails because of its warning. */
  async #ask(name: string): Promise<string | undefined> {
    try {
      const store = await this.#connection.store()
      const [found, [...announced]] = await Promise.all([
        store.records(HANDLER, { ids: [name] }),
        store.records(HANDLER, { limit: NAMES_MAX }),
      ])
      if (found.length > 0) this.#known.add(name)
      if (found.length > 0 || announced.length === 0) return undefined
      const { now } = await store.info()
      if ((await liveWorkers(store, now)).some(worker => knows(worker, name))) return undefined
      const near = suggest(
        name,
        announced.map(({ id }) => id),
      )
      return `no worker has ever announced a handler for ${shown(name)}${near === undefined ? '' : `; did you mean ${shown(near)}?`}`
    } catch {
      return undefined
    }
  }
}
