import assert from 'node:assert/strict'
import { type QueueLimits, queueBounds } from '../../../src/core/partition/limits.js'
import { allowedAt, type PaceState, spend, startCost, startsNow } from '../../../src/core/partition/pace.js'
import { systemClock, systemDice } from '../../../src/engine/time/system.js'
import { memoryStore } from '../../../src/store/memory.js'
import { postgresStore } from '../../../src/store/postgres/store.js'
import type { Store } from '../../../src/store/store.js'
import { Bench, succeeded } from '../../store/conformance/bench.js'

const QUEUE = 'crm'

async function inMemory(limits: Omit<QueueLimits, 'from'>, check: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = new Bench(async clock => memoryStore({ clock }))
  await bench.open()
  try {
    await bench.store.setQueue(QUEUE, { limits: { ...limits, from: 'operator' } })
    await check(bench)
  } finally {
    await bench.close()
  }
}

export async function partitionsShareAClaim(): Promise<void> {
  await inMemory({ partitions: { fair: true } }, async bench => {
    await bench.addMany(100, { queue: QUEUE, partition: 'large' })
    await bench.addMany(1, { queue: QUEUE, partition: 'small' })
    const jobs = await bench.claim({ queues: [QUEUE], limit: 10 })
    const small = jobs.filter(({ lane }) => lane === 'small').length
    assert.equal(small, 1, 'the backlog of one partition keeps another one waiting')
  })
}

/** The claims of one worker pass partitions over that have no job for it; another worker has one. */
export async function aPartitionKeepsItsPlaceInTheLine(): Promise<void> {
  await inMemory({ partitions: { fair: true } }, async bench => {
    const names = { list: ['send-mail'], isExcluded: false }
    const passOver = async (limit: number): Promise<void> => {
      await bench.claim({ queues: [QUEUE], limit, names })
      bench.clock.advance(1_000)
    }
    await bench.addMany(1, { queue: QUEUE, partition: 'first', name: 'other' })
    await passOver(5)
    await bench.addMany(1, { queue: QUEUE, partition: 'second', name: 'other' })
    await passOver(5)
    await passOver(1)
    const [next] = await bench.claim({ queues: [QUEUE], limit: 1 })
    assert.equal(next?.lane, 'first', 'a partition that was passed over is at the end of the line')
  })
}

/** The number of times that four processes claim at the same moment. */
const RACES = 12

export async function claimsAtTheSameTimeShareALimit(): Promise<void> {
  const schema = `killer_${systemDice.token().slice(0, 12)}`
  const url = process.env['CHRONOS_TEST_POSTGRES_URL']!
  const open = (): Store => postgresStore({ url, schema, clock: systemClock, dice: systemDice })
  const stores = [open(), open(), open(), open()]
  const bench = new Bench(async () => stores[0]!)
  await bench.open()
  try {
    await bench.store.setQueue(QUEUE, { limits: { limit: { concurrency: 1 }, from: 'operator' } })
    for (let race = 0; race < RACES; race++) {
      for (const partition of ['a', 'b', 'c', 'd']) await bench.addMany(1, { queue: QUEUE, partition })
      const claims = stores.map(store => store.claim(bench.request({ queues: [QUEUE], limit: 1 })))
      const jobs = (await Promise.all(claims)).flatMap(claim => claim.jobs)
      assert.ok(jobs.length <= 1, `${jobs.length} jobs of a queue with a concurrency of 1 started at the same time`)
      for (const job of jobs) await bench.settle(job, succeeded(), { lane: job.lane! })
    }
  } finally {
    await Promise.all(stores.map(store => store.close()))
  }
}

/** Two starts, the second after the rate has made up for the first; then the first is given back. */
export async function aRateGivesNothingBackThatItHasMadeUpFor(): Promise<void> {
  const bounds = queueBounds({ limit: { rate: '1/s', burst: 2 } })
  const twice = spend(bounds, spend(bounds, {}, startCost(), 1_000), startCost(), 2_500)
  const givenBack = spend(bounds, twice, { '': -1 }, 2_600, 1_000)
  assert.equal(startsNow(bounds, givenBack, 2_600), 1)
}

/** Two of four starts are given back, the second after two more starts that it would have made possible anyway. */
export async function aStartGivenBackLateCountsAsIfItHadBeenKnown(): Promise<void> {
  const bounds = queueBounds({ limit: { rate: '2/s', burst: 2 } })
  const start = (state: PaceState, at: number): PaceState => spend(bounds, state, startCost(), at)
  const back = (state: PaceState, at: number): PaceState => spend(bounds, state, { '': -1 }, at, 1_000)
  const both = start(start({}, 1_000), 1_000)
  const inTime = start(start(back(back(both, 1_131), 1_131), 1_138), 1_266)
  const late = back(start(start(back(both, 1_131), 1_138), 1_266), 1_131)
  const next = (state: PaceState): number => allowedAt(bounds, state, startCost(), 1_300)
  assert.equal(next(inTime), 1_638)
  assert.equal(next(late), 1_638, 'a rate lets more start if it learns late of what was given back')
}
