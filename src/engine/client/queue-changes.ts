import { DELIVERIES } from '../../core/webhook/delivery.js'
import type { QueueRecord } from '../../store/store.js'
import type { Leases } from '../leases/leases.js'
import type { DeclaredLimits } from '../limits/declared.js'
import type { Deliverer } from '../webhooks/deliverer.js'
import type { Worker } from '../worker/worker.js'
import type { Connection } from './connection.js'
import type { Policies } from './policies.js'

interface Parts {
  readonly connection: Connection
  readonly limits: DeclaredLimits
  readonly policies: ReadonlySet<Policies>
  readonly workers: ReadonlySet<Worker>
  readonly deliverer: () => Deliverer
  readonly leases: () => Leases
}

/** Passes what happens to queues on to everything in this process that runs their jobs. */
export class QueueChanges {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** This process has changed the settings of a queue. */
  changed(queue: QueueRecord): void {
    const { policies, workers, deliverer, leases } = this.#parts
    for (const one of policies) one.setQueue(queue)
    for (const worker of workers) {
      if (queue.paused) worker.pauseQueue(queue.name)
      else worker.wake()
    }
    if (queue.paused) deliverer().pauseQueue(queue.name)
    else {
      deliverer().wake()
      leases().wake(0)
    }
  }

  /** The settings of all queues, which another process may have changed. */
  async seen(queues: readonly QueueRecord[]): Promise<void> {
    const { policies, workers, deliverer, limits, connection } = this.#parts
    for (const one of policies) one.setQueues(queues)
    for (const { name } of queues.filter(queue => queue.paused)) {
      for (const worker of workers) worker.pauseQueue(name)
      deliverer().pauseQueue(name)
    }
    await deliverer().seen(queues)
    if (!limits.isLostBy(queues)) return
    for (const queue of await limits.restore(await connection.store())) this.changed(queue)
  }

  /** A job of a queue with limits has ended, so another one may start. */
  turnEnded(queue: string): void {
    const { workers, deliverer, leases } = this.#parts
    for (const worker of workers) if (worker.serves(queue)) worker.wake()
    if (queue === DELIVERIES) deliverer().wake()
    leases().wake(0)
  }
}
