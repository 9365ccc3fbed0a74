import { type Bench, died, retry } from '../bench.js'
import type { Suite } from '../runner.js'

const exact = (value: number) => ({ value, relation: 'exact' })
const NONE = Object.fromEntries(
  ['scheduled', 'queued', 'retrying', 'blocked', 'running', 'dead'].map(phase => [phase, exact(0)]),
)

export function censusCases(bench: Bench, { describe, expect, it }: Suite): void {
  const retrying = async (delayMs: number, queue = 'default') => {
    await bench.settle(await bench.running({ queue, priority: 9 }), retry(delayMs))
  }

  describe('census', () => {
    it('counts the jobs of each queue by phase', async () => {
      await bench.ended(died(), { queue: 'b' })
      await retrying(1_000)
      await retrying(0)
      await bench.running({ priority: 9, queue: 'b' })
      await bench.addMany(3, { priority: 2 })
      await bench.addMany(2, { runAt: { delayMs: 60_000 } })
      await bench.store.setQueue('empty', {})
      expect(await bench.store.census({ cap: 100 })).toEqual([
        { queue: 'b', ...NONE, running: exact(1), dead: exact(1) },
        { queue: 'default', ...NONE, scheduled: exact(2), queued: exact(3), retrying: exact(2) },
        { queue: 'empty', ...NONE },
      ])
    })

    it('counts the due jobs of a paused queue as blocked', async () => {
      await bench.addMany(3, { queue: 'a' })
      await retrying(1_000, 'a')
      await retrying(0, 'a')
      await bench.add({ queue: 'a', runAt: { delayMs: 60_000 } })
      await bench.store.setQueue('a', { paused: true })
      const paused = { ...NONE, blocked: exact(4), retrying: exact(1), scheduled: exact(1) }
      expect(await bench.store.census({ cap: 100 })).toEqual([{ queue: 'a', ...paused }])
      await bench.store.setQueue('a', { paused: false })
      const free = { ...NONE, queued: exact(3), retrying: exact(2), scheduled: exact(1) }
      expect(await bench.store.census({ cap: 100 })).toEqual([{ queue: 'a', ...free }])
    })

    it('counts the jobs that a dependency holds back as blocked until their slot', async () => {
      await bench.settle(await bench.running({ dependency: 'api', priority: 9 }), retry(0))
      await bench.addMany(2, { dependency: 'api' })
      await bench.add({ dependency: 'api', runAt: { delayMs: 60_000 } })
      const moved = { dependency: 'api', from: { dueWithinMs: 0 }, delaysMs: [5_000, 10_000, 20_000], pass: 1 }
      await bench.store.defer(moved)
      const counts = async () => (await bench.store.census({ cap: 100 }))[0]
      expect(await counts()).toMatchObject({ ...NONE, blocked: exact(3), scheduled: exact(1) })
      bench.clock.advance(5_000)
      expect(await counts()).toMatchObject({ ...NONE, blocked: exact(2), retrying: exact(1), scheduled: exact(1) })
      bench.clock.advance(15_000)
      const slots = { ...NONE, queued: exact(2), retrying: exact(1), scheduled: exact(1) }
      expect(await counts()).toMatchObject(slots)
    })

    it('counts the given queues, and nothing for an unknown queue', async () => {
      await bench.add({ queue: 'a' })
      await bench.add({ queue: 'b' })
      await bench.add({ queue: 'c', runAt: { delayMs: 60_000 } })
      const census = (...queues: string[]) => bench.store.census({ cap: 10, queues })
      expect(await census('b')).toMatchObject([{ queue: 'b', queued: exact(1) }])
      expect(await census('c', 'a', 'd', 'a')).toMatchObject([
        { queue: 'a', queued: exact(1), scheduled: exact(0) },
        { queue: 'c', queued: exact(0), scheduled: exact(1) },
      ])
      expect(await census('d')).toEqual([])
      expect(await census()).toEqual([])
    })

    it('counts several hundred queues', async () => {
      const numbers = Array.from({ length: 250 }, (_, number) => number)
      for (const number of numbers)
        await bench.addMany(1 + (number % 3), { queue: `q${number}`, priority: number % 10 })
      const counts = new Map((await bench.store.census({ cap: 10 })).map(({ queue, queued }) => [queue, queued.value]))
      expect(counts).toEqual(new Map(numbers.map(number => [`q${number}`, 1 + (number % 3)])))
    })

    it('stops at the cap and says so', async () => {
      await bench.addMany(6)
      const [queue] = await bench.store.census({ cap: 4 })
      expect(queue).toMatchObject({ queued: { value: 4, relation: 'at-least' }, scheduled: exact(0) })
    })
  })

  describe('wave', () => {
    const request = { windowMs: 60_000, buckets: 6, lookAt: 100 }

    it('counts retries and first runs by due time', async () => {
      await retrying(5_000)
      await retrying(9_999)
      await retrying(10_000, 'other')
      await retrying(600_000)
      await retrying(0)
      await bench.add({ runAt: { delayMs: 59_999 } })
      await bench.add({ runAt: { delayMs: 60_000 } })
      await bench.add({ dependency: 'api' })
      await bench.store.defer({ dependency: 'api', from: { dueWithinMs: 0 }, delaysMs: [25_000], pass: 1 })
      expect(await bench.store.wave(request)).toEqual({
        from: expect.any(Number),
        retrying: [2, 1, 0, 0, 0, 0],
        scheduled: [0, 0, 0, 0, 0, 1],
        blocked: [0, 0, 1, 0, 0, 0],
        due: 1,
        beyond: exact(2),
        complete: true,
      })
      expect(await bench.store.wave({ ...request, queue: 'other' })).toMatchObject({
        retrying: [0, 1, 0, 0, 0, 0],
        due: 0,
        beyond: exact(0),
      })
    })

    it('is empty for an unknown queue', async () => {
      expect(await bench.store.wave({ ...request, queue: 'none' })).toMatchObject({
        retrying: [0, 0, 0, 0, 0, 0],
        scheduled: [0, 0, 0, 0, 0, 0],
        blocked: [0, 0, 0, 0, 0, 0],
        complete: true,
      })
    })

    it('reports when it stopped at the limit', async () => {
      await bench.addMany(5, { runAt: { delayMs: 30_000 } })
      expect(await bench.store.wave({ ...request, lookAt: 4 })).toMatchObject({ complete: false })
      expect(await bench.store.wave({ ...request, lookAt: 5 })).toMatchObject({ complete: true })
    })
  })
}
