import {
  codeLimits,
  isSame,
  type LimitPair,
  limit,
  partitionLimits,
  type QueueLimits,
} from '../../core/partition/limits.js'
import { ChronosError } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { read } from '../../core/values/schema.js'
import type { QueueRecord, Store } from '../../store/store.js'

/** The limits of queues that the code has declared, by queue. Every process that declares them writes them to the store. */
export class DeclaredLimits {
  readonly #byQueue: ReadonlyMap<string, LimitPair>

  constructor(byQueue: ReadonlyMap<string, LimitPair>) {
    this.#byQueue = byQueue
  }

  /** When the store is opened: the latest process to start knows best. */
  async write(store: Store): Promise<void> {
    if (this.#byQueue.size === 0) return
    checkSupport(store, 'createChronos: queues')
    const known = new Map((await store.queues()).map(queue => [queue.name, queue]))
    for (const [name, pair] of this.#byQueue) {
      if (!isSame(codeLimits(known.get(name)?.limits), pair)) await set(store, name, pair)
    }
  }

  /**
   * Whether one of these queues has lost what the code says about it, because an operator removed it. During a deploy the
   * limits of the other version count, so that the two don't replace each other's for ever.
   */
  isLostBy(queues: readonly QueueRecord[]): boolean {
    return this.#lostBy(queues).length > 0
  }

  async restore(store: Store): Promise<readonly QueueRecord[]> {
    const lost = this.#lostBy(await store.queues())
    const restored: QueueRecord[] = []
    for (const [name, pair] of lost) restored.push(await set(store, name, pair))
    return restored
  }

  #lostBy(queues: readonly QueueRecord[]): readonly (readonly [name: string, pair: LimitPair])[] {
    if (this.#byQueue.size === 0) return []
    const known = new Map(queues.map(queue => [queue.name, queue]))
    return [...this.#byQueue].filter(([name]) => codeLimits(known.get(name)?.limits) === undefined)
  }
}

function set(store: Store, name: string, pair: LimitPair): Promise<QueueRecord> {
  const limits: QueueLimits = { ...pair, from: 'code' }
  return store.setQueue(name, { limits })
}

/** The limits in the options of a queue; undefined if it has none. */
export function readLimits(given: LimitPair, where: string): LimitPair | undefined {
  if (given.limit === undefined && given.partitions === undefined) return undefined
  return present({
    limit: given.limit === undefined ? undefined : read(limit, given.limit, `${where}.limit`),
    partitions:
      given.partitions === undefined ? undefined : read(partitionLimits, given.partitions, `${where}.partitions`),
  })
}

export function checkSupport(store: Store, where: string): void {
  if (store.partitions) return
  throw new ChronosError(
    'STORE_NOT_SUPPORTED',
    `${where}: this store has no limits of queues; leave limit and partitions out, or use another store`,
    { details: { store: store.kind } },
  )
}
