import { Chronos } from '../../../src/engine/client/chronos.js'
import type { Log } from '../../../src/engine/client/log.js'
import type { Egress, EgressParts } from '../../../src/engine/egress/egress.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { PACE } from '../../../src/engine/upkeep/maintenance.js'
import type { Worker } from '../../../src/engine/worker/worker.js'
import type { Store } from '../../../src/store/store.js'
import type { Trace } from '../trace.js'
import { definitionsOf, type Stage } from './handlers.js'
import type { Host } from './host.js'
import { LIMITED } from './limits.js'
import type { JobName, WorkerPlan } from './plan.js'

/** One simulated process: the real engine in its own host. A client is a process without a worker. */
export interface Process {
  readonly slot: number
  readonly host: Host
  readonly chronos: Chronos
  readonly worker?: Worker
  readonly plan?: WorkerPlan
  /** Set once it was told to stop. */
  stopping?: Promise<void>
}

interface Birth {
  readonly slot: number
  readonly host: Host
  readonly store: Store
  readonly stage: Stage
  readonly diceSeed: number
  readonly trace: Trace
  readonly now: () => number
  /** A handler continued after it was aborted. */
  readonly onStuck: () => void
  readonly newEgress: (parts: EgressParts) => Egress
  readonly hasAlerts: boolean
  readonly hasLimits: boolean
  readonly plan?: WorkerPlan
  readonly unknown?: JobName
}

const ALERTS = { rules: { 'dead-letters': { for: 0 }, 'circuit-open': { for: 0, keep: 0 } } } as const

export function startProcess(birth: Birth): Process {
  const { slot, host, store, stage, diceSeed, plan, unknown } = birth
  const options = { log: logOf(birth), ...(birth.hasAlerts && { alerts: ALERTS }) }
  const chronos = new Chronos(async () => store, host.clock, seededDice(diceSeed), options, PACE, birth.newEgress)
  if (!plan) return { slot, host, chronos }
  const { concurrency, leaseMs, pollMs, graceMs } = plan
  const worker = chronos.work(definitionsOf(host, stage, unknown), {
    queues: birth.hasLimits ? ['default', 'mail', LIMITED] : ['default', 'mail'],
    concurrency,
    lease: leaseMs,
    poll: pollMs,
    grace: graceMs,
    signals: false,
  })
  return { slot, host, chronos, worker, plan }
}

/** The engine's warnings belong in the trace. */
function logOf({ trace, host, now, onStuck }: Birth): Log {
  const say = (fields: Record<string, unknown>, message: string): void => {
    if (host.isGone) return
    const { event, jobId, run, retryInMs, err } = fields
    if (event === 'handler.stuck') onStuck()
    const why = err instanceof Error ? err.message : undefined
    trace.say(now(), host.name, `· ${message}`, JSON.stringify({ event, jobId, run, retryInMs, why }))
  }
  const ignore = (): void => {}
  return { debug: ignore, info: ignore, warn: say, error: say, isLevelEnabled: () => false } as unknown as Log
}
