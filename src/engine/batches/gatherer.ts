import { batchSize } from '../../core/job/batch.js'
import { partitionOf } from '../../core/partition/limits.js'
import type { Clock, Timer } from '../../core/values/clock.js'
import type { Claimed } from '../../store/store.js'
import type { Attempt } from '../worker/attempt.js'
import { Batch, Fault } from './batch.js'
import type { BatchSettings } from './settings.js'

interface Waiting {
  readonly attempt: Attempt
  readonly go: (batch: Batch | undefined) => void
}

interface Group {
  readonly waiting: Set<Waiting>
  readonly timer: Timer
}

/** Collects jobs whose handler takes several at once, until a batch is full or its first job has waited long enough. */
export class Gatherer {
  readonly #clock: Clock
  readonly #sizeMax: number
  readonly #groups = new Map<string, Group>()

  /** A batch can't be larger than the number of jobs that the worker runs at a time. */
  constructor(clock: Clock, sizeMax: number) {
    this.#clock = clock
    this.#sizeMax = sizeMax
  }

  /** Resolves to the batch of this attempt; undefined if its signal aborts first. */
  gather(attempt: Attempt, settings: BatchSettings): Promise<Batch | undefined> {
    const { name, isLastAttempt, claimed } = attempt
    const { suspect } = claimed
    const size = Math.min(batchSize({ attempt: attempt.attempt, isLastAttempt, suspect }, settings.size), this.#sizeMax)
    if (size === 1) return Promise.resolve(new Batch(this.#clock, [attempt]))
    const of = groupOf(claimed, settings)
    if (of instanceof Fault) return Promise.resolve(new Batch(this.#clock, [attempt], of))
    // The call has one timeout.
    const key = JSON.stringify([name, size, of, attempt.timeoutMs])
    const group = this.#groups.get(key) ?? this.#open(key, settings.waitMs)
    return new Promise(resolve => {
      const { signal } = attempt
      const stop = (): void => waiting.go(undefined)
      const waiting: Waiting = {
        attempt,
        go: batch => {
          signal.removeEventListener('abort', stop)
          group.waiting.delete(waiting)
          resolve(batch)
        },
      }
      if (signal.aborted) return resolve(undefined)
      signal.addEventListener('abort', stop, { once: true })
      if (group.waiting.add(waiting).size === size) this.#close(key, group)
    })
  }

  #open(key: string, waitMs: number): Group {
    const group: Group = { waiting: new Set(), timer: this.#clock.timer(waitMs, () => this.#close(key, group)) }
    this.#groups.set(key, group)
    return group
  }

  #close(key: string, { waiting, timer }: Group): void {
    timer.cancel()
    this.#groups.delete(key)
    const all = [...waiting]
    const batch = new Batch(
      this.#clock,
      all.map(({ attempt }) => attempt),
    )
    for (const { go } of all) go(batch)
  }
}

/** Jobs with the same value may share a call. */
function groupOf(claimed: Claimed, { by }: BatchSettings): string | null | Fault {
  if (by === undefined) return null
  if (by === 'tenant') return claimed.tenantId ?? null
  if (by === 'partition') return partitionOf(claimed)
  try {
    return String(by(JSON.parse(claimed.payload) as never))
  } catch (error) {
    return new Fault(error)
  }
}
