import assert from 'node:assert/strict'
import { fixed } from '../../../src/core/policy/builders.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import type { Environment } from '../../../src/engine/client/environment.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import type { Attempt } from '../../../src/engine/worker/attempt.js'
import { runOnce } from '../../../src/engine/worker/effects.js'
import type { Held } from '../../../src/engine/worker/fetcher.js'
import { LeaseRenewer } from '../../../src/engine/worker/lease-renewer.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { Store } from '../../../src/store/store.js'
import { quiet } from './clock.js'

const LEASE_MS = 30_000
const LEASE = { id: 'a', token: 't' }

/** What the code under test uses of an environment. */
function environmentOf(clock: VirtualClock, store: Partial<Store>): Environment {
  const connection = { opened: store, store: async () => store }
  return { clock, dice: seededDice(1), log: quiet, connection } as unknown as Environment
}

export async function aRenewalReachesAJobThatStartedMeanwhile(): Promise<void> {
  const clock = new VirtualClock()
  const held = { claimed: LEASE, leaseUntil: clock.now() + LEASE_MS } as unknown as Held
  const attempt = { ...held, interruption: undefined } as unknown as Attempt
  let holds: Held | Attempt = held
  const env = environmentOf(clock, {
    async extend() {
      holds = attempt
      return ['held']
    },
  })
  const ignore = (): void => {}
  const renewer = new LeaseRenewer({
    ...{ env, workerId: 'w', leaseMs: LEASE_MS, stuckAfterMs: LEASE_MS, held: () => [holds] },
    ...{ onLost: ignore, onCancel: ignore, onAtRisk: ignore },
  })
  renewer.watch()
  await clock.advance(LEASE_MS / 3)
  await clock.passUntil(renewer.stop())
  assert.equal(attempt.leaseUntil, clock.now() + LEASE_MS)
}

export async function anEffectOfARunThatHasEndedDoesNotHappen(): Promise<void> {
  const clock = new VirtualClock()
  const attempt = { lease: LEASE, over: false, interruption: undefined, leaseUntil: clock.now() + LEASE_MS }
  const env = environmentOf(clock, {
    async beginEffect() {
      attempt.over = true
      return { status: 'new' }
    },
    endEffect: async () => 'done',
  })
  let happened = 0
  const once = runOnce(env, attempt as unknown as Attempt, 'charge', () => happened++, 'run')
  await assert.rejects(once, { code: 'LEASE_LOST' })
  assert.equal(happened, 0)
}

export async function aLateRequestLeavesALaterRunAlone(): Promise<void> {
  const clock = new VirtualClock()
  const retry = fixed({ delay: '10s', maxRetries: 2, jitter: 'none' })
  const chronos = new Chronos(async () => memoryStore({ clock }), clock, seededDice(1), { log: false, retry })
  const token = 'a'.repeat(32)
  const { id } = await chronos.enqueue('resize', {})
  const [first] = (await chronos.leases.claim({ workerId: 'py-1', token })).data
  const run = first!.job.run!
  await chronos.leases.fail(id, { token, run, error: { message: 'busy' } })
  await clock.advance(10_000)
  await chronos.leases.claim({ workerId: 'py-1', token })
  await assert.rejects(chronos.leases.complete(id, { token, run }), { code: 'LEASE_LOST' })
  assert.equal((await chronos.jobs.get(id))?.state, 'running')
  await clock.passUntil(chronos.close())
}
