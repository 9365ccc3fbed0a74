import type { FleetEvent } from '../../core/incident/event.js'
import { attemptLabel, type Job } from '../../core/job/job.js'
import { timeText } from '../../core/job/view.js'
import type { Timer } from '../../core/values/clock.js'
import { present } from '../../core/values/present.js'
import { about, anyText, anything, type Infer, integer, literal, named, oneOf } from '../../core/values/schema.js'
import { listOf, view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import type { RecordWrite, StoredRecord } from '../../store/record.js'
import type { Store } from '../../store/store.js'
import { HTTP_JOB } from '../client/definition.js'
import type { Environment } from '../client/environment.js'
import { drainsAmong, noWorker, pullRecordId, requestDrain, WORKER_DRAIN } from '../fleet/drain.js'
import { eventWrites } from '../incident/events.js'
import { bodyOf } from '../records/records.js'
import type { Worker } from './worker.js'

export const WORKER = 'worker'
/** Each name that a worker has ever announced is a record, so that it is also known between two deploys. */
export const HANDLER = 'handler'
/** The build of each worker that named one, also after it has stopped. */
export const WORKER_BUILD = 'worker-build'

export interface WorkerBuild {
  readonly build: string
  readonly at: number
}

/** A worker that is busy or idle for this long says so at once. */
const LOAD_SEEN_MS = 1_000
/** A worker that has missed this many heartbeats is no longer counted as alive. */
const SILENT_BEATS = 3
export const WORKERS_MAX = 10_000
export const EVERY_NAME = '*'

/** What a worker publishes about itself with every heartbeat. */
export interface WorkerRecord {
  readonly id: string
  /** A pull worker: it runs in another process and claims jobs through `chronos.leases`. */
  readonly kind?: 'pull'
  readonly host: string
  readonly pid: number
  readonly queues: readonly string[]
  /** The jobs that it has handlers for; `EVERY_NAME` stands for all except those that Chronos runs itself. */
  readonly names: readonly string[]
  readonly concurrency: number
  readonly running: number
  readonly startedAt: number
  readonly seenAt: number
  /** The interval of its heartbeats. */
  readonly beatMs: number
  /** The version of the program that it belongs to, if it says. */
  readonly build?: string
  /** What it has done since it started; absent for a pull worker. */
  readonly done?: { readonly succeeded: number; readonly failed: number; readonly leasesLost: number }
}

export const workerView = named(
  'Worker',
  view(
    {
      id: anyText,
      host: anyText,
      pid: integer(),
      queues: listOf(anyText),
      names: about(listOf(anyText), 'The names of the jobs that it has handlers for; `*` for all.'),
      concurrency: integer(),
      running: integer(),
      state: oneOf(['alive', 'silent']),
      startedAt: timestamp,
      seenAt: timestamp,
    },
    {
      kind: about(literal('pull'), 'pull: the worker claims jobs with `POST /leases:claim`.'),
      build: about(anyText, 'The version of its program: `work({ build })`, `CHRONOS_BUILD`, or `build` of a claim.'),
      draining: about(literal(true), 'It claims no more jobs, and stops when those that it runs have ended.'),
      done: about(
        view({ succeeded: integer(), failed: integer(), leasesLost: integer() }),
        'Runs that succeeded and failed, and leases that it lost, since it started. Absent for pull workers.',
      ),
    },
  ),
)
export type WorkerView = Infer<typeof workerView>

const runningJob = named(
  'RunningJob',
  view(
    {
      id: anyText,
      name: anyText,
      queue: anyText,
      label: about(anyText, 'The name of the run: `Initial`, `Retry #1`, …'),
    },
    { startedAt: timestamp, tenantId: anyText, progress: about(anything, 'The last `job.progress(…)`.') },
  ),
)

export const workerPage = named(
  'WorkerPage',
  view(
    {
      ...workerView.required,
      jobs: about(listOf(runningJob), 'The jobs that it runs now, at most 100, newest first.'),
    },
    workerView.optional,
  ),
)
export type WorkerPage = Infer<typeof workerPage>

const JOBS_SHOWN = 100

/** Stores the heartbeats of the workers in this process and reads those of the fleet. */
export class Fleet {
  readonly #env: Environment
  readonly #workers: ReadonlySet<Worker>
  /** The number of running jobs in the last heartbeat, by worker. */
  #stored = new Map<string, number>()
  #soon: Timer | undefined
  /** Stores a heartbeat now. */
  onLoad = (): void => undefined

  constructor(env: Environment, workers: ReadonlySet<Worker>) {
    this.#env = env
    this.#workers = workers
  }

  /** A step of a loop: stores a heartbeat of every worker in this process. */
  async step(everyMs: number): Promise<number> {
    const store = await this.#env.connection.store()
    const now = this.#env.time.now()
    const records = [...this.#workers].map(worker => worker.describe(now, everyMs))
    const beats = records.map(record => ({ kind: WORKER, id: record.id, body: JSON.stringify(record) }))
    const fresh = records.filter(({ id }) => !this.#stored.has(id))
    const news = new Set(fresh.flatMap(({ names }) => names))
    await store.putRecords([...beats, ...announcementsOf(news), ...fresh.flatMap(startWrites)])
    this.#stored = new Map(records.map(({ id, running }) => [id, running]))
    const asked = await drainsAmong(
      store,
      records.map(({ id }) => id),
    )
    for (const worker of this.#workers) if (asked.has(worker.id)) void worker.drain()
    return everyMs
  }

  /**
   * The jobs of a worker changed. If it is busy for a second although its last heartbeat says idle, or the reverse, the
   * next heartbeat comes early; short jobs cause no writes.
   */
  loadChanged(): void {
    if (this.#soon || !this.#isOutdated) return
    this.#soon = this.#env.clock.timer(LOAD_SEEN_MS, () => {
      this.#soon = undefined
      if (this.#isOutdated) this.onLoad()
    })
  }

  stop(): void {
    this.#soon?.cancel()
    this.#soon = undefined
  }

  get #isOutdated(): boolean {
    for (const { id, isBusy } of this.#workers) {
      const stored = this.#stored.get(id)
      if (stored !== undefined && stored > 0 !== isBusy) return true
    }
    return false
  }

  /** A stopped worker removes its record, so that it is not listed until its heartbeats are overdue. */
  async left(worker: Worker): Promise<void> {
    if (!this.#stored.delete(worker.id)) return
    const store = this.#env.connection.opened
    const kinds = worker.isDraining ? [WORKER, WORKER_DRAIN] : [WORKER]
    await store?.putRecords(kinds.map(kind => ({ kind, id: worker.id, body: null })))
    if (worker.isDraining) this.#env.events.emit('worker.drained', { workerId: worker.id })
  }

  /** The workers of the whole fleet, newest first. */
  async list(): Promise<readonly WorkerView[]> {
    const store = await this.#env.connection.store()
    const { now } = await store.info()
    const [records, drains] = await Promise.all([
      store.records(WORKER, { limit: WORKERS_MAX, order: 'down' }),
      store.records(WORKER_DRAIN, { limit: WORKERS_MAX }),
    ])
    const asked = new Set(drains.map(({ id }) => id))
    return records.flatMap(record => this.#viewOf(record, now, asked.has(record.id)))
  }

  /** One worker, with the jobs that it runs. */
  async get(id: string): Promise<WorkerPage> {
    const store = await this.#env.connection.store()
    const { now } = await store.info()
    const record = await this.#find(store, id)
    const [drains, running] = await Promise.all([
      drainsAmong(store, [record.id]),
      store.list({ workerId: id }, { limit: JOBS_SHOWN }),
    ])
    const [worker] = this.#viewOf(record, now, drains.has(record.id))
    return { ...worker!, jobs: running.data.map(runningView) }
  }

  /**
   * Asks a worker to claim no more jobs and to stop when those that it runs have ended. In this process it obeys at
   * once, in another one at its next heartbeat; a pull worker learns of it from its next claim.
   */
  async drain(id: string): Promise<WorkerPage> {
    const store = await this.#env.connection.store()
    const record = await this.#find(store, id)
    await requestDrain(store, record.id, this.#env.time.now())
    const page = await this.get(id)
    for (const worker of this.#workers) if (worker.id === id) void worker.drain()
    return page
  }

  async #find(store: Store, id: string): Promise<StoredRecord> {
    const [record] = await store.records(WORKER, { ids: [id, pullRecordId(id)] })
    if (!record || bodyOf<WorkerRecord>(record).length === 0) throw noWorker(id)
    return record
  }

  #viewOf(record: StoredRecord, now: number, isDraining: boolean): readonly WorkerView[] {
    const here = [...this.#workers].find(({ id }) => id === record.id)
    return bodyOf<WorkerRecord>(record).map(body => ({
      ...viewWorker({ ...body, running: here?.getStats().running ?? body.running }, now),
      ...(isDraining && { draining: true as const }),
    }))
  }
}

function runningView(job: Job): WorkerPage['jobs'][number] {
  const { id, name, queue, attempt, generation, startedAt, tenantId, progress } = job
  return {
    ...{ id, name, queue, label: attemptLabel(attempt, generation) },
    ...present({ tenantId, startedAt: startedAt === undefined ? undefined : timeText(startedAt) }),
    ...(progress !== undefined && { progress: JSON.parse(progress) as unknown }),
  }
}

function buildOf({ id, build, startedAt: at }: WorkerRecord): readonly RecordWrite[] {
  return build === undefined
    ? []
    : [{ kind: WORKER_BUILD, id, body: JSON.stringify({ build, at } satisfies WorkerBuild) }]
}

function startOf({ id: workerId, host, build, startedAt: at }: WorkerRecord): readonly FleetEvent[] {
  return build === undefined ? [] : [{ type: 'worker-started', at, workerId, host, build }]
}

export const startWrites = (record: WorkerRecord): readonly RecordWrite[] => [
  ...eventWrites(startOf(record)),
  ...buildOf(record),
]

export const announcementsOf = (names: Iterable<string>): readonly RecordWrite[] =>
  [...names].map(name => ({ kind: HANDLER, id: name, body: '{}' }))

export function knows({ names }: Pick<WorkerRecord, 'names'>, name: string): boolean {
  return names.includes(name) || (names.includes(EVERY_NAME) && name !== HTTP_JOB)
}

export function isAlive({ seenAt, beatMs }: WorkerRecord, now: number): boolean {
  return seenAt >= now - SILENT_BEATS * beatMs
}

function viewWorker({ beatMs, ...record }: WorkerRecord, now: number): WorkerView {
  return {
    ...record,
    state: isAlive({ beatMs, ...record }, now) ? 'alive' : 'silent',
    startedAt: timeText(record.startedAt),
    seenAt: timeText(record.seenAt),
  }
}
