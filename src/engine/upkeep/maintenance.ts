import type { QueueRecord } from '../../store/store.js'
import type { Alerts } from '../alerts/alerts.js'
import { AlertEvaluator } from '../alerts/evaluator.js'
import type { JobDefinition } from '../client/definition.js'
import type { Environment } from '../client/environment.js'
import { Redriver } from '../dead/redriver.js'
import type { Dependencies } from '../dependencies/dependencies.js'
import { Scheduler } from '../schedules/scheduler.js'
import { type Loop, startLoop } from '../time/loop.js'
import type { Deliverer, DelivererPace } from '../webhooks/deliverer.js'
import type { Fleet } from '../worker/fleet.js'
import { DeltaFolder } from './delta-folder.js'
import { Pruner } from './pruner.js'
import { RecordPruner } from './record-pruner.js'
import type { RetentionPlan } from './retention.js'
import { Sweeper } from './sweeper.js'

export interface MaintenanceOptions {
  readonly env: Environment
  readonly leaseMs: number
  readonly pace: Pace
  readonly alerts: Alerts
  readonly retention: () => RetentionPlan
  /** Jobs of dead workers are available again, and this process's workers may take them. */
  readonly onHandedOn: () => void
  /** The definition of a job that this process has. */
  readonly definitionOf: (name: string) => JobDefinition | undefined
  readonly onQueues: (queues: readonly QueueRecord[]) => Promise<void>
  /** A schedule made jobs that are due in `delayMs`. */
  readonly onFired: (delayMs: number) => void
}

/** The intervals of the loops when they have nothing to do. */
export interface Pace extends DelivererPace {
  readonly queuesMs: number
  readonly sweepMs: number
  readonly foldMs: number
  readonly redrivesMs: number
  readonly dependenciesMs: number
  readonly fleetMs: number
  /** While there is no schedule. */
  readonly schedulesMs: number
  /** While there are schedules: how soon a change by another process is seen. */
  readonly scheduleChangesMs: number
  /** After three missed evaluations, the time between is unknown. */
  readonly alertsMs: number
}

export const PACE: Pace = {
  queuesMs: 15_000,
  sweepMs: 5_000,
  foldMs: 10_000,
  redrivesMs: 15_000,
  dependenciesMs: 15_000,
  fleetMs: 15_000,
  schedulesMs: 15_000,
  scheduleChangesMs: 1_000,
  alertsMs: 30_000,
  deliveriesMs: 15_000,
  webhookChangesMs: 1_000,
  webhooksMs: 15_000,
}

/** The loops that maintain a store. They run beside every worker, on every node, and need no leader. */
export class Maintenance {
  readonly #loops: readonly Loop[]
  readonly #sweeper: Sweeper
  readonly #redriver: Redriver
  readonly #redriving: Loop
  readonly #scheduler: Scheduler
  readonly #scheduling: Loop

  constructor(options: MaintenanceOptions) {
    const { env, leaseMs, pace, alerts, retention, onHandedOn, definitionOf, onQueues, onFired } = options
    const { clock, dice, log, connection } = env
    const sweeper = new Sweeper({ env, leaseMs, everyMaxMs: pace.sweepMs, onHandedOn, definitionOf })
    this.#sweeper = sweeper
    const pruner = new Pruner(env, retention)
    const records = new RecordPruner(env)
    const folder = new DeltaFolder(env, pace.foldMs)
    this.#redriver = new Redriver(env, pace.redrivesMs, onHandedOn)
    const evaluator = new AlertEvaluator({
      env,
      everyMs: pace.alertsMs,
      alerts,
    })
    const refreshQueues = async (): Promise<number> => {
      await onQueues(await (await connection.store()).queues())
      return pace.queuesMs
    }
    const schedulerPace = { idleMs: pace.schedulesMs, changesMs: pace.scheduleChangesMs }
    this.#scheduler = new Scheduler({ env, pace: schedulerPace, onFired })
    this.#scheduling = startLoop({ name: 'scheduler', clock, dice, log, step: () => this.#scheduler.step() })
    this.#redriving = startLoop({ name: 'redriver', clock, dice, log, step: () => this.#redriver.step() })
    this.#loops = [
      startLoop({ name: 'sweeper', clock, dice, log, step: () => sweeper.step(), idleMs: () => sweeper.idleMs() }),
      startLoop({ name: 'queues', clock, dice, log, step: refreshQueues }),
      startLoop({ name: 'pruner', clock, dice, log, step: () => pruner.step() }),
      startLoop({ name: 'records', clock, dice, log, firstAfterMs: 60_000, step: () => records.step() }),
      startLoop({ name: 'folder', clock, dice, log, step: () => folder.step(), idleMs: () => folder.idleMs() }),
      startLoop({ name: 'alerts', clock, dice, log, step: () => evaluator.step() }),
      this.#redriving,
      this.#scheduling,
    ]
  }

  /** A schedule was changed. */
  schedule(): void {
    this.#scheduler.look()
    this.#scheduling.wake()
  }

  /** A redrive was started or changed in this process. */
  redrive(): void {
    this.#redriver.look()
    this.#redriving.wake()
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#loops.map(loop => loop.stop()), this.#sweeper.stop()])
  }
}

/**
 * The loops of every process with a worker, whichever process maintains the store: they read dependencies, store
 * heartbeats and deliver webhooks.
 */
export class WorkerLoops {
  readonly #loops: readonly Loop[]
  readonly #deliverer: Deliverer
  readonly #fleet: Fleet

  constructor(
    { clock, dice, log }: Environment,
    pace: Pace,
    dependencies: Dependencies,
    fleet: Fleet,
    deliverer: Deliverer,
  ) {
    this.#deliverer = deliverer
    const looking = startLoop({
      name: 'dependencies',
      clock,
      dice,
      log,
      step: () => dependencies.step(pace.dependenciesMs),
    })
    dependencies.onUse = () => looking.wake()
    const beating = startLoop({ name: 'fleet', clock, dice, log, step: () => fleet.step(pace.fleetMs) })
    fleet.onLoad = () => beating.wake()
    this.#fleet = fleet
    this.#loops = [looking, beating, startLoop({ name: 'webhooks', clock, dice, log, step: () => deliverer.step() })]
  }

  async stop(): Promise<void> {
    this.#fleet.stop()
    await Promise.all(this.#loops.map(loop => loop.stop()))
    await this.#deliverer.stop()
  }
}
