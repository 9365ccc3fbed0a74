import type { PruneRequest, QueueRecord } from '../store/store.js'
import type { Environment } from './environment.js'
import { type Loop, startLoop } from './loop.js'
import { Pruner } from './pruner.js'
import { Sweeper } from './sweeper.js'

export interface MaintenanceOptions {
  readonly env: Environment
  readonly leaseMs: number
  readonly pace: Pace
  readonly olderThanMs: PruneRequest['olderThanMs']
  /** Jobs were handed on: this process's workers may take them. */
  readonly onHandedOn: () => void
  readonly onQueues: (queues: readonly QueueRecord[]) => void
}

/** How often the loops look when there is nothing to do. */
export interface Pace {
  readonly queuesMs: number
  readonly sweepMs: number
}

export const PACE: Pace = { queuesMs: 2000, sweepMs: 5000 }

/** The loops that keep a store in order. They run beside every worker, on every node, and need no leader. */
export class Maintenance {
  readonly #loops: readonly Loop[]

  constructor({ env, leaseMs, pace, olderThanMs, onHandedOn, onQueues }: MaintenanceOptions) {
    const { clock, dice, log, connection } = env
    const sweeper = new Sweeper(env, leaseMs, pace.sweepMs, onHandedOn)
    const pruner = new Pruner(env, olderThanMs)
    const refreshQueues = async (): Promise<number> => {
      onQueues(await (await connection.store()).queues())
      return pace.queuesMs
    }
    this.#loops = [
      startLoop({ name: 'sweeper', clock, dice, log, step: () => sweeper.step() }),
      startLoop({ name: 'queues', clock, dice, log, step: refreshQueues }),
      startLoop({ name: 'pruner', clock, dice, log, step: () => pruner.step() }),
    ]
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map(loop => loop.stop()))
  }
}
