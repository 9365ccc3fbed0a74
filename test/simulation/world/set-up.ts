import { Chronos } from '../../../src/engine/client/chronos.js'
import type { Egress, EgressParts } from '../../../src/engine/egress/egress.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { PACE } from '../../../src/engine/upkeep/maintenance.js'
import type { Store } from '../../../src/store/store.js'
import type { Host } from './host.js'
import { LIMITED } from './limits.js'
import { DEFINED, type Plan } from './plan.js'

interface SetUp extends Omit<Plan, 'store'> {
  readonly startAt: number
  readonly host: Host
  readonly store: Store
  readonly newEgress: (parts: EgressParts) => Egress
}

/** Makes what exists before the faults begin: the limits, the endpoints and the schedules. */
export async function setUp({ seed, startAt, host, store, newEgress, features, jobs, limits }: SetUp): Promise<void> {
  const { endpoints, schedules } = features
  if (limits) await store.setQueue(LIMITED, { limits })
  if (endpoints.length + schedules.length === 0) return
  const dice = seededDice(seed * 1_000 + 999)
  const chronos = new Chronos(async () => store, host.clock, dice, { log: false }, PACE, newEgress)
  for (const { url, events, tenantId, hasCircuit } of endpoints) {
    const retry = {
      maxRetries: 3,
      jitter: 'none' as const,
      backoff: { type: 'fixed' as const, delay: 3_000 },
      ...(hasCircuit && { circuit: { window: 10_000, minimumCalls: 2, openFor: 1_000, openMax: 4_000 } }),
    }
    const isAlerted = events.includes('alert.firing')
    const all = isAlerted ? [...events, 'alert.resolved' as const] : events
    await chronos.webhooks.create({ url, events: all, retry, ...(tenantId !== undefined && { tenantId }) })
  }
  for (const plan of schedules) {
    const { id, everyMs, startMs, endMs, overlap, missed, ref, tenantId } = plan
    await chronos.schedules.put(id, {
      ...{ every: everyMs, overlap, missed, job: jobs[ref]!.name, payload: { ref }, retry: DEFINED.quick },
      ...{ startAt: new Date(startAt + startMs), endAt: new Date(startAt + endMs) },
      ...(tenantId !== undefined && { tenantId }),
    })
  }
  await chronos.close()
}
