import type { Timer } from '../../core/values/clock.js'
import type { Environment } from '../client/environment.js'
import { EVERY_NAME, WORKER, type WorkerRecord } from '../worker/fleet.js'
import type { ClaimPlan } from './options.js'

interface PullWorker {
  record: Omit<WorkerRecord, 'running' | 'seenAt'>
  seenAt: number
  /** When the leases that this process has given it run out, by job, on the store's clock. */
  readonly leases: Map<string, number>
  /** What the others were told last. */
  toldAt: number
  told: string
}

/** What happens in the same moment is told together. */
const TELL_MS = 1_000
/** A worker that asked so often is taken to be there until three of its beats are missed. */
const BEAT_MS = 15_000
const WORKERS_MAX = 1_000

/** Tells of workers outside the fleet's own processes: each call of theirs is a sign of life. */
export class PullFleet {
  readonly #env: Environment
  readonly #workers = new Map<string, PullWorker>()
  #timer: Timer | undefined
  #telling: Promise<void> = Promise.resolve()

  constructor(env: Environment) {
    this.#env = env
  }

  /** It asks for work. */
  claims({ workerId: id, queues, names, limit, leaseMs, host, pid }: ClaimPlan): void {
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
    } as const
    if (known) known.record = record
    else this.#add(id, { record, seenAt: now, leases: new Map(), toldAt: Number.NEGATIVE_INFINITY, told: '' })
    this.seen(id)
  }

  holds(workerId: string, jobId: string, until: number): void {
    this.#workers.get(workerId)?.leases.set(jobId, until)
    this.seen(workerId)
  }

  ended(workerId: string, jobId: string): void {
    this.#workers.get(workerId)?.leases.delete(jobId)
    this.seen(workerId)
  }

  /** One that asked another process for work is told of there, until it asks here. */
  seen(workerId: string): void {
    const worker = this.#workers.get(workerId)
    if (!worker) return
    worker.seenAt = this.#env.time.now()
    this.#timer ??= this.#env.clock.timer(TELL_MS, () => this.#tell())
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    await this.#telling
  }

  #add(id: string, worker: PullWorker): void {
    if (this.#workers.size >= WORKERS_MAX) this.#workers.delete(this.#workers.keys().next().value!)
    this.#workers.set(id, worker)
  }

  #tell(): void {
    this.#timer = undefined
    const now = this.#env.time.now()
    const news = [...this.#workers].flatMap(([id, worker]) => this.#newsOf(id, worker, now))
    if (news.length === 0) return
    this.#telling = this.#put(news)
  }

  async #put(news: readonly { readonly kind: string; readonly id: string; readonly body: string }[]): Promise<void> {
    const { connection, log } = this.#env
    try {
      await (await connection.store()).putRecords(news)
    } catch (error) {
      // Their next call is as good.
      log.warn({ event: 'fleet.failed', err: error }, 'failed to store pull-worker heartbeats')
    }
  }

  #newsOf(id: string, worker: PullWorker, now: number): { kind: string; id: string; body: string }[] {
    const { record, seenAt, leases, toldAt, told } = worker
    for (const [jobId, until] of leases) if (until < now) leases.delete(jobId)
    const facts = JSON.stringify({ ...record, running: leases.size })
    const isNews = facts !== told || seenAt - toldAt >= record.beatMs / 3
    if (seenAt === toldAt || !isNews) {
      if (now - seenAt > 10 * record.beatMs) this.#workers.delete(id)
      return []
    }
    worker.toldAt = seenAt
    worker.told = facts
    const body: WorkerRecord = { ...record, running: leases.size, seenAt }
    return [{ kind: WORKER, id: `pull:${id}`, body: JSON.stringify(body) }]
  }
}
