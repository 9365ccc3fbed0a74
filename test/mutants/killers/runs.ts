import assert from 'node:assert/strict'
import { cancel, redrive } from '../../../src/core/job/changes.js'
import { fixed } from '../../../src/core/policy/builders.js'
import { DELIVERIES } from '../../../src/core/webhook/delivery.js'
import { Batch } from '../../../src/engine/batches/batch.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import type { Environment } from '../../../src/engine/client/environment.js'
import { storeProxy } from '../../../src/engine/time/store-proxy.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import { removeEmptyQueues } from '../../../src/engine/upkeep/empty-queues.js'
import type { Attempt } from '../../../src/engine/worker/attempt.js'
import { runOnce } from '../../../src/engine/worker/effects.js'
import type { Held } from '../../../src/engine/worker/fetcher.js'
import { LeaseRenewer } from '../../../src/engine/worker/lease-renewer.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { EffectStatus, Expired, Store } from '../../../src/store/store.js'
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

export async function anEffectAsksAgainAfterASuspension(): Promise<void> {
  const clock = new VirtualClock()
  const attempt = { lease: LEASE, over: false, interruption: undefined, leaseUntil: clock.now() + LEASE_MS }
  const answers: EffectStatus[] = [{ status: 'new' }, { status: 'lost' }]
  const env = environmentOf(clock, {
    async beginEffect() {
      const answer = answers.shift()!
      // The process is suspended past its lease while the first answer is under way.
      if (answer.status === 'new') await clock.wait(2 * LEASE_MS)
      return answer
    },
    endEffect: async () => 'done',
  })
  let happened = 0
  const once = runOnce(env, attempt as unknown as Attempt, 'charge', () => happened++, 'run')
  await assert.rejects(clock.passUntil(once), { code: 'LEASE_LOST' })
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

export async function aLeaseThatIsOverIsNotHandedOut(): Promise<void> {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  const slow: Store = {
    ...store,
    async begin(requests) {
      await clock.wait(6_000)
      return store.begin(requests)
    },
  }
  const chronos = new Chronos(async () => slow, clock, seededDice(1), { log: false })
  await chronos.enqueue('charge', {}, { delivery: 'at-most-once' })
  const claim = chronos.leases.claim({ workerId: 'py-1', lease: '5s' })
  const { data } = await clock.passUntil(claim, { despite: 'calls' })
  assert.deepEqual(data, [], 'a job is handed out whose run may be counted as not begun')
  await clock.passUntil(chronos.close(), { despite: 'calls' })
}

/** Runs ten jobs in batches, of which the second fails every batch that it is in; returns their states by payload. */
async function statesAfterABadJob(): Promise<Record<number, string>> {
  const clock = new VirtualClock()
  const retry = fixed({ delay: '10s', maxRetries: 2, jitter: 'none' })
  const chronos = new Chronos(async () => memoryStore({ clock }), clock, seededDice(1), { log: false, retry })
  const bulk = defineJob({
    name: 'bulk',
    batch: { size: 10, wait: 10 },
    run(payloads: readonly number[]) {
      if (payloads.includes(1)) throw new Error('can not be read')
    },
  })
  chronos.work([bulk], { concurrency: 20 })
  const many = await chronos.enqueueMany(bulk, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  await chronos.jobs.cancel(many[0]!.id)
  await clock.advance(60_000)
  const states = await Promise.all(many.map(async ({ id }) => (await chronos.jobs.get(id))!.state))
  await clock.passUntil(chronos.close())
  return { ...states }
}

export async function aBadJobTakesNoOtherWithIt(): Promise<void> {
  const states = await statesAfterABadJob()
  assert.deepEqual(states, { ...Array(10).fill('succeeded'), 0: 'cancelled', 1: 'dead' })
}

export async function aBatchDoesNotWaitForAJobThatHasEnded(): Promise<void> {
  const clock = new VirtualClock()
  const left = {} as Attempt
  const handler = async (payloads: readonly number[]): Promise<number[]> => [...payloads]
  const stayed = { definition: { handler }, over: false } as unknown as Attempt
  const batch = new Batch(clock, [left, stayed])
  const result = batch.run(stayed, 7)
  batch.free(left)
  assert.equal(await Promise.race([result, clock.advance(1_000).then(() => 'still waiting')]), 7)
}

/** A redrive lists a dead job; before it starts the job, another redrive does so, and the job dies again. */
export async function aLateRedriveLeavesAJobAloneThatHasDiedAgain(): Promise<void> {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  let others = 1
  const list: Store['list'] = async (filter, page) => {
    const found = await store.list(filter, page)
    if (filter.state !== 'dead' || others-- <= 0) return found
    await store.change([found.data[0]!.id], redrive({ redriveId: 'other' }))
    await clock.wait(2_000)
    return found
  }
  const chronos = new Chronos(async () => ({ ...store, list }), clock, seededDice(1), { log: false })
  const fails = (): never => {
    throw new Error('no address')
  }
  chronos.work([defineJob({ name: 'invoice', retry: { maxRetries: 0 }, run: fails })], { signals: false })
  const { id } = await chronos.enqueue('invoice', 1)
  await clock.advance(5_000)
  await chronos.dead.redrive({}, { canary: 0 })
  await clock.advance(10_000, { despite: 'calls' })
  const job = await store.get(id)
  assert.deepEqual([job?.state, job?.generation, job?.redriveId], ['dead', 2, 'other'])
  await clock.passUntil(chronos.close())
}

/** Another process requests the cancellation, and the run fails before its worker knows. */
export async function aRunThatIsCancelledBeforeItsRetryIsDelivered(): Promise<void> {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  const chronos = new Chronos(async () => store, clock, seededDice(1), { log: false })
  await chronos.webhooks.create({ url: 'https://example.com/', events: ['job.cancelled'] })
  await chronos.queues.pause(DELIVERIES)
  const invoice = defineJob({
    name: 'invoice',
    async run(_: number, job) {
      await store.change([job.id], cancel)
      throw new Error('no address')
    },
  })
  chronos.work([invoice], { signals: false })
  const { id } = await chronos.enqueue(invoice, 1)
  await clock.advance(5_000)
  const deliveries = await store.list({ queue: DELIVERIES }, { limit: 10 })
  assert.deepEqual([(await store.get(id))?.state, deliveries.data.length], ['cancelled', 1])
  await clock.passUntil(chronos.close())
}

export async function aResultThatIsNotKeptIsLogged(): Promise<void> {
  const clock = new VirtualClock()
  const warned: unknown[] = []
  const log = { ...quiet, warn: (facts: { event?: string }) => void warned.push(facts.event) } as typeof quiet
  const chronos = new Chronos(async () => memoryStore({ clock }), clock, seededDice(1), { log })
  const odd = defineJob<unknown, unknown>({ name: 'odd', run: () => ({ big: 1n }) })
  chronos.work([odd])
  await chronos.enqueue(odd, {})
  await clock.advance(1_000)
  await clock.passUntil(chronos.close())
  assert.ok(warned.includes('result.dropped'), 'a result vanishes silently')
}

export async function emptyQueuesAreRemoved(): Promise<void> {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  const chronos = new Chronos(async () => store, clock, seededDice(1), { log: false })
  const { id } = await chronos.enqueue('resize', {}, { queue: 'once', delay: '30d' })
  await chronos.jobs.cancel(id)
  await chronos.jobs.delete(id)
  await store.fold(100)
  await clock.advance(8 * 86_400_000)
  await removeEmptyQueues(store, clock.now())
  assert.deepEqual(await chronos.queues.list(), [], 'an empty queue is kept for ever')
  await clock.passUntil(chronos.close())
}

export async function aRunThatBeginsDuringASweepNeverStartsAgain(): Promise<void> {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  const swept = storeProxy(store, (name, call) => {
    if (name !== 'expired') return call
    return async (...args) => {
      const found = (await call(...args)) as Expired
      // A worker whose clock is behind begins its run after the sweeper has read the job.
      await store.begin(found.jobs)
      return found
    }
  })
  const chronos = new Chronos(async () => swept, clock, seededDice(1), { log: false })
  chronos.work([], { queues: ['others'], signals: false })
  const { id } = await chronos.enqueue('pay', {}, { delivery: 'at-most-once' })
  const asked = { workerId: 'w', token: 't', queues: ['default'], limit: 1, leaseMs: LEASE_MS, policyIds: {} }
  await store.claim(asked)
  await clock.advance(10 * LEASE_MS)
  assert.equal((await store.get(id))?.reason, 'unknown-outcome', 'it may start a second time')
  await clock.passUntil(chronos.close())
}

/** A job of one worker crashes the process, while another worker runs a harmless one. */
export async function aCrashIsOfAProcess(): Promise<void> {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  const chronos = new Chronos(async () => store, clock, seededDice(1), { log: false })
  const { id } = await chronos.enqueue('harmless', {})
  await chronos.enqueue('crash', {})
  for (const workerId of ['w', 'w~2']) await clock.passUntil(chronos.leases.claim({ workerId, lease: '5s' }))
  await clock.advance(3 * LEASE_MS)
  const job = await store.get(id)
  assert.deepEqual([job?.state, job?.losses, job?.strikes], ['waiting', 1, 0], 'it counts as the one that crashed')
  await clock.passUntil(chronos.close())
}

export async function aSuspectIsAloneInItsProcess(): Promise<void> {
  const clock = new VirtualClock()
  const retry = fixed({ delay: '1s', maxRetries: 9, jitter: 'none' })
  const chronos = new Chronos(async () => memoryStore({ clock }), clock, seededDice(1), { log: false, retry })
  const running = new Set<string>()
  let isBeside = false
  const jobIn = (queue: string) =>
    defineJob({
      name: queue,
      queue,
      async run(_: unknown, job) {
        running.add(queue)
        isBeside ||= running.size > 1
        await job.clock.wait('3s')
        running.delete(queue)
      },
    })
  const [mail, payments] = [jobIn('mail'), jobIn('payments')]
  const { id } = await chronos.enqueue(mail, {})
  await clock.passUntil(chronos.leases.claim({ workerId: 'gone', queues: ['mail'], lease: '5s' }))
  await clock.advance(60_000)
  await chronos.enqueueMany(payments, [1, 2, 3])
  chronos.work([payments], { queues: ['payments'], concurrency: 1, signals: false })
  await clock.advance(1_000)
  chronos.work([mail], { queues: ['mail'], signals: false })
  await clock.advance(60_000)
  assert.equal((await chronos.jobs.get(id))?.state, 'succeeded')
  assert.ok(!isBeside, 'a suspect ran beside a job of another worker')
  await clock.passUntil(chronos.close())
}
