import type { Job } from '../../src/core/job/job.js'
import type { Limit, QueueLimits } from '../../src/core/partition/limits.js'
import type { ModelRow, StoreModel } from './model.js'

// What limits promise, written from their documentation. The model does not predict which jobs of a limited queue a
// claim takes; it checks those that the store has taken.

/** What a claim may not do. */
export type LimitPromise =
  | 'a limit is never exceeded'
  | 'a rate is never exceeded'
  | 'a partition keeps its order'
  | 'a dead letter stops its partition'

export interface LimitFlaw {
  readonly promise: LimitPromise
  readonly what: string
}

const PER_MS = { s: 1 / 1_000, m: 1 / 60_000, h: 1 / 3_600_000 } as const

/** The starts of partitions and queues, for rates. A start that is given back is forgotten. */
export class LimitModel {
  readonly #starts = new Map<string, { readonly id: string; readonly at: number }[]>()

  /** Called after the rows were taken. */
  check(model: StoreModel, taken: readonly ModelRow[], limits: QueueLimits, now: number): LimitFlaw[] {
    const flaws: LimitFlaw[] = []
    const queue = taken[0]?.job.queue
    if (queue === undefined) return flaws
    for (const { job } of taken) this.#note(job, now)
    const own = model.rows.filter(({ job }) => job.queue === queue && job.lane !== undefined)
    this.#checkBounds(limits.limit, own, `queue ${queue}`, [queue], now, flaws)
    for (const lane of new Set(taken.map(({ job }) => job.lane!))) {
      const rows = own.filter(({ job }) => job.lane === lane)
      const { partitions } = limits
      this.#checkBounds(
        partitions?.override?.[lane] ?? partitions,
        rows,
        `partition ${lane}`,
        [queue, lane],
        now,
        flaws,
      )
      if (partitions?.order === 'fifo') checkOrder(rows, taken, lane, partitions.onDead === 'stop', flaws)
    }
    return flaws
  }

  /** A run that did not start does not count. */
  giveBack({ queue, lane, id }: Job): void {
    for (const starts of [this.#starts.get(keyOf(queue)), this.#starts.get(keyOf(queue, lane))]) {
      const place = starts?.findLastIndex(start => start.id === id) ?? -1
      if (place >= 0) starts!.splice(place, 1)
    }
  }

  #note({ queue, lane, id }: Job, at: number): void {
    for (const key of [keyOf(queue), keyOf(queue, lane)])
      this.#starts.set(key, [...(this.#starts.get(key) ?? []), { id, at }])
  }

  #checkBounds(
    limit: Limit | undefined,
    rows: readonly ModelRow[],
    what: string,
    key: readonly [string, string?],
    now: number,
    flaws: LimitFlaw[],
  ): void {
    const running = rows.filter(({ job }) => job.state === 'running').length
    if (running > (limit?.concurrency ?? Number.POSITIVE_INFINITY))
      flaws.push({ promise: 'a limit is never exceeded', what: `${what} runs ${running} of ${limit!.concurrency}` })
    if (limit?.rate === undefined) return
    const [, amount, unit] = /^(\d+)\/([smh])$/.exec(String(limit.rate))!
    const perMs = Number(amount) * PER_MS[unit as 's' | 'm' | 'h']
    const burst = limit.burst ?? Math.max(1, Math.ceil(perMs * 1_000))
    const starts = this.#starts.get(keyOf(...key)) ?? []
    for (const [index, { at }] of starts.entries()) {
      const count = starts.length - index
      // A millisecond is the smallest step of the clock.
      if (count <= perMs * (now - at + 1) + burst) continue
      flaws.push({ promise: 'a rate is never exceeded', what: `${what}: ${count} starts in ${now - at} ms` })
      return
    }
  }
}

function checkOrder(
  rows: readonly ModelRow[],
  taken: readonly ModelRow[],
  lane: string,
  stops: boolean,
  flaws: LimitFlaw[],
): void {
  const running = rows.filter(({ job }) => job.state === 'running')
  const first = taken.find(({ job }) => job.lane === lane)!
  const now = first.job.startedAt!
  const isBefore = (row: ModelRow): boolean => rows.indexOf(row) < rows.indexOf(first)
  const earlier = rows.find(
    row => isBefore(row) && row.job.state === 'waiting' && (row.job.deadline ?? Number.POSITIVE_INFINITY) > now,
  )
  if (running.length > 1 || earlier)
    flaws.push({
      promise: 'a partition keeps its order',
      what: `partition ${lane}: ${first.job.id} starts ${earlier ? `before ${earlier.job.id}` : 'beside another'}`,
    })
  const dead = rows.find(({ job }) => job.state === 'dead' && job.reason !== 'discarded')
  if (stops && dead)
    flaws.push({ promise: 'a dead letter stops its partition', what: `${first.job.id} starts after ${dead.job.id}` })
}

const keyOf = (queue: string, lane?: string): string => JSON.stringify([queue, lane])
