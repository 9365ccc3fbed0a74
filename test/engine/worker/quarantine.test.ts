import { expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { Store } from '../../../src/store/store.js'
import { STORES } from '../../support/stores.js'

/** A Chronos on virtual time, and a job of the queue `mail` that must run alone. */
async function world(open: (clock: VirtualClock) => Store) {
  const clock = new VirtualClock()
  const chronos = new Chronos(async () => open(clock), clock, seededDice(1), { log: false, retry })
  const suspect = await chronos.enqueue('mail', {}, { queue: 'mail' })
  // Its worker is lost while it holds nothing else.
  await clock.passUntil(chronos.leases.claim({ workerId: 'gone', queues: ['mail'], lease: '5s' }))
  await clock.advance(60_000)
  const [lost] = (await chronos.jobs.history(suspect.id)).data
  expect(lost!.decision?.why).toContain('strike 1 of 3')
  return { clock, chronos, suspect }
}

const retry = fixed({ delay: '1s', maxRetries: 20, jitter: 'none' })

test.each(STORES)('a suspect that must run alone is alone among all workers of its process, on %s', async (_, open) => {
  const { clock, chronos, suspect } = await world(open)
  const runs = new Map<string, { readonly name: string; readonly from: number; to: number }>()
  const jobIn = (queue: string) =>
    defineJob({
      name: queue,
      queue,
      async run(_payload: unknown, job) {
        runs.set(job.id, { name: queue, from: clock.now(), to: Number.POSITIVE_INFINITY })
        await job.clock.wait('3s')
        runs.get(job.id)!.to = clock.now()
      },
    })
  const [mail, payments] = [jobIn('mail'), jobIn('payments')]
  await chronos.enqueueMany(payments, [1, 2, 3])
  const first = chronos.work([payments], { queues: ['payments'], concurrency: 2, signals: false })
  await clock.advance(1_000)
  const second = chronos.work([mail], { queues: ['mail'], concurrency: 2, signals: false })
  expect(second.id).toBe(`${first.id}~2`)
  await clock.advance(4_000)
  await chronos.enqueueMany(payments, [4, 5, 6])
  await clock.advance(60_000)

  const { from, to } = runs.get(suspect.id)!
  expect(to - from).toBe(3_000)
  const others = [...runs.values()].filter(({ name }) => name === 'payments')
  expect(others).toHaveLength(6)
  expect(others.filter(other => other.from < to && other.to > from)).toEqual([])
  // The other worker goes on at once when the suspect has ended.
  expect(others.some(other => other.from === to)).toBe(true)
  expect((await chronos.jobs.count({ state: 'succeeded' })).value).toBe(7)
  await clock.passUntil(chronos.close())
})

test('a suspect that waits for a long job keeps others waiting for less and less of the time', async () => {
  const { clock, chronos, suspect } = await world(own => memoryStore({ clock: own }))
  const started: number[] = []
  const long = defineJob({ name: 'long', queue: 'long', timeout: '1h', run: (_, job) => job.clock.wait('40m') })
  const short = defineJob({ name: 'short', queue: 'short', run: () => void started.push(clock.now()) })
  await chronos.enqueue(long, {})
  chronos.work([long, short], { queues: ['long', 'short'], signals: false })
  await clock.advance(1_000)
  chronos.work([defineJob({ name: 'mail', run: () => undefined })], { queues: ['mail'], signals: false })
  const enqueued: number[] = []
  for (let passed = 0; passed < 2_000; passed += 10) {
    enqueued.push(clock.now())
    await chronos.enqueue(short, {})
    await clock.advance(10_000)
  }
  await clock.advance(30_000)
  const waits = enqueued.map((at, index) => started[index]! - at)
  expect(Math.max(...waits)).toBeLessThanOrEqual(30_000)
  // In the end, half a minute of every five and a half. Without the pauses, it was four fifths of the time.
  const later = waits.slice(50)
  expect(later.filter(ms => ms > 0).length / later.length).toBeLessThan(0.15)
  await clock.advance(900_000)
  expect(await chronos.jobs.get(suspect.id)).toMatchObject({ state: 'succeeded', attempt: 2 })
  await clock.passUntil(chronos.close())
})

test.each(['stop', 'drain'] as const)('the other workers go on after the %s of one whose suspect waits', async how => {
  const { clock, chronos } = await world(own => memoryStore({ clock: own }))
  let started = 0
  const long = defineJob({ name: 'long', queue: 'long', timeout: '1h', run: (_, job) => job.clock.wait('40m') })
  const short = defineJob({ name: 'short', queue: 'short', run: () => void started++ })
  await chronos.enqueue(long, {})
  chronos.work([long, short], { queues: ['long', 'short'], signals: false })
  await clock.advance(1_000)
  const other = chronos.work([defineJob({ name: 'mail', run: () => undefined })], { queues: ['mail'], signals: false })
  await clock.advance(1_000)
  await chronos.enqueue(short, {})
  await clock.advance(5_000)
  expect(started).toBe(0)
  await clock.passUntil(other[how]())
  await clock.advance(1_000)
  expect(started).toBe(1)
  await clock.passUntil(chronos.close())
})
