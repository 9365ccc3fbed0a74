import { isSame, type LimitPair, type QueueLimits } from '../../core/partition/limits.js'
import { present } from '../../core/values/present.js'
import { DELIVERIES } from '../../core/webhook/delivery.js'
import { deliveryLimits } from '../../core/webhook/webhook.js'
import type { QueueRecord } from '../../store/store.js'
import type { Connection } from '../client/connection.js'
import type { Endpoints } from './endpoints.js'

/** Two processes that change endpoints at the same moment need one more round. */
const ROUNDS_MAX = 10

/**
 * The limits of the deliveries queue follow the endpoints: each endpoint is a partition of it. A store without
 * partitions sends deliveries without these limits.
 */
export class EndpointLimits {
  readonly #connection: Connection
  readonly #endpoints: Endpoints
  /** This process sends deliveries, or has changed an endpoint. */
  #isUsed = false

  constructor(connection: Connection, endpoints: Endpoints) {
    this.#connection = connection
    this.#endpoints = endpoints
  }

  /**
   * Writes the limits that the stored endpoints ask for. The endpoints are read again after every write, so the last
   * process that writes has seen the last change.
   */
  async write(): Promise<void> {
    const store = await this.#connection.store()
    if (!store.partitions) return
    this.#isUsed = true
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const queue = (await store.queues()).find(({ name }) => name === DELIVERIES)
      await this.#endpoints.load()
      if (this.#isRight(queue?.limits)) return
      await store.setQueue(DELIVERIES, { limits: this.#next(queue?.limits) })
    }
  }

  /** Whether the limits were removed, or follow endpoints that have changed since. */
  isLostBy(queues: readonly QueueRecord[]): boolean {
    return this.#isUsed && !this.#isRight(queues.find(({ name }) => name === DELIVERIES)?.limits)
  }

  #isRight(limits: LimitPair | undefined): boolean {
    return isSame(present({ partitions: limits?.partitions }), { partitions: this.#wanted })
  }

  /** An operator may limit all deliveries together; those of each endpoint are its settings. */
  #next(limits: QueueLimits | undefined): QueueLimits {
    const partitions = this.#wanted
    return limits?.from === 'operator'
      ? present({ limit: limits.limit, partitions, from: 'operator' as const })
      : { partitions, from: 'code' }
  }

  get #wanted() {
    return deliveryLimits(this.#endpoints.all())
  }
}
