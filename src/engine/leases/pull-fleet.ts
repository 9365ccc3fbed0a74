import type { Timer } from '../../core/values/clock.js'
import { present } from '../../core/values/present.js'
import type { RecordWrite } from '../../store/record.js'
import type { Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { drainsAmong, pullRecordId } from '../fleet/drain.js'
import { announcementsOf, EVERY_NAME, startWrites, WORKER, type WorkerRecord } from '../worker/fleet.js'
import type { ClaimPlan } from './options.js'

interface PullWorker {
  record: Omit<WorkerRecord, 'running' | 'seenAt'>
  seenAt: number
  /** Expiry times of the leases that this process has granted to it, by job, on the store's clock. */
  readonly leases: Map<string, number>
  /** An operator asked it to drain. */
  isDraining: boolean
  /** The last heartbeat that was stored. */
  storedAt: number
  stored: string
}

/** Heartbeats within this time are stored together. */
const STORE_MS = 1_000
/** The heartbeat interval of a pull worker. It counts as alive until three heartbeats are missed. */
const BEAT_MS = 15_000
const WORKERS_MAX = 1_000

/** Stores the heartbeats of pull workers: each of their calls is one. */
export class PullFleet {
  readonly #env: Environment
  readonly #workers = new Map<string, PullWorker>()
  #timer: Timer | undefined
  #storing: Promise<void> = Promise.resolve()

  constructor(env: Environment) {
    this.#env = env
  }

  /** The worker claims jobs. */
  claims({ workerId: id, queues, names, limit, leaseMs, host, pid, build }: ClaimPlan): void {
    const known = this.#workers.get(id)
    const now = this.#env.time.now()
    const record = {
      id,
      kind: 'pull',
      host,
      pid,
      queues,
      names: names.isExcluded ? [EVERY_NAME] : names.list,
      concurrency: Math.max(limit, known?.leases.size ?? 0),
      startedAt: known?.record.startedAt ?? now,
      beatMs: Math.max(BEAT_MS, Math.ceil(leaseMs / 3)),
      ...present({ build }),
    } as const
    if (known) known.record = record
    else {
      const storedAt = Number.NEGATIVE_INFINITY
      this.#add(id, { record, seenAt: now, leases: new Map(), isDraining: false, storedAt, stored: '' })
    }
    this.seen(id)
  }

  /** Whether its claims are refused, because it is asked to drain. */
  isDraining(workerId: string): boolean {
    return this.#workers.get(workerId)?.isDraining ?? false
  }

  holds(workerId: string, jobId: string, until: number): void {
    this.#workers.get(workerId)?.leases.set(jobId, until)
    this.seen(workerId)
  }

  ended(workerId: string, jobId: string): void {
    this.#workers.get(workerId)?.leases.delete(jobId)
    this.seen(workerId)
  }

  /** A worker that claims through another process is recorded there, until it claims here. */
  seen(workerId: string): void {
    const worker = this.#workers.get(workerId)
    if (!worker) return
    worker.seenAt = this.#env.time.now()
    this.#timer ??= this.#env.clock.timer(STORE_MS, () => this.#store())
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    await this.#storing
  }

  #add(id: string, worker: PullWorker): void {
    if (this.#workers.size >= WORKERS_MAX) this.#workers.delete(this.#workers.keys().next().value!)
    this.#workers.set(id, worker)
  }

  #store(): void {
    this.#timer = undefined
    const now = this.#env.time.now()
    const news = [...this.#workers].flatMap(([id, worker]) => this.#newsOf(id, worker, now))
    if (news.length === 0) return
    this.#storing = this.#put(news)
  }

  async #put(news: readonly RecordWrite[]): Promise<void> {
    const { connection, log } = this.#env
    try {
      const store = await connection.store()
      await store.putRecords(news)
      await this.#readDrains(store)
    } catch (error) {
      // The worker's next call repeats the heartbeat.
      log.warn({ event: 'fleet.failed', err: error }, 'failed to store pull-worker heartbeats')
    }
  }

  /** A worker whose request was removed, because it is a day old, may claim again. */
  async #readDrains(store: Store): Promise<void> {
    const asked = await drainsAmong(store, [...this.#workers.keys()].map(pullRecordId))
    for (const [id, worker] of this.#workers) worker.isDraining = asked.has(pullRecordId(id))
  }

  #newsOf(id: string, worker: PullWorker, now: number): readonly RecordWrite[] {
    const { record, seenAt, leases, storedAt, stored } = worker
    for (const [jobId, until] of leases) if (until < now) leases.delete(jobId)
    const facts = JSON.stringify({ ...record, running: leases.size })
    const isNews = facts !== stored || seenAt - storedAt >= record.beatMs / 3
    if (seenAt === storedAt || !isNews) {
      if (now - seenAt > 10 * record.beatMs) this.#workers.delete(id)
      return []
    }
    const isNew = stored === ''
    worker.storedAt = seenAt
    worker.stored = facts
    const body: WorkerRecord = { ...record, running: leases.size, seenAt }
    const beat = { kind: WORKER, id: pullRecordId(id), body: JSON.stringify(body) }
    if (!isNew) return [beat]
    return [beat, ...announcementsOf(record.names.filter(name => name !== EVERY_NAME)), ...startWrites(body)]
  }
}
