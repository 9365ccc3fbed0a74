import { expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import { STORES } from '../../support/stores.js'

const retry = fixed({ delay: '1s', maxRetries: 20, jitter: 'none' })

test.each(STORES)('a suspect that must run alone is alone among all workers of its process, on %s', async (_, open) => {
  const clock = new VirtualClock()
  const chronos = new Chronos(async () => open(clock), clock, seededDice(1), { log: false, retry })
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
  const suspect = await chronos.enqueue(mail, {})
  // Its worker is lost while it holds nothing else, so the job must run alone from now on.
  await clock.passUntil(chronos.leases.claim({ workerId: 'gone', queues: ['mail'], lease: '5s' }))
  await clock.advance(60_000)
  const [lost] = (await chronos.jobs.history(suspect.id)).data
  expect(lost!.decision?.why).toContain('strike 1 of 3')

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
