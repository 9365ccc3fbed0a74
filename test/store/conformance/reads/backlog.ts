import { type Bench, died, retry, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function backlogCases(bench: Bench, { describe, expect, it }: Suite): void {
  const backlog = (given: { deadMax?: number } = {}) =>
    bench.store.backlog({ exceptTag: 'quiet', deadMax: 100, ...given })

  describe('backlog', () => {
    it('is empty without waiting or dead jobs', async () => {
      expect(await backlog()).toEqual([])
      await bench.ended(succeeded())
      await bench.running()
      await bench.add({ runAt: { delayMs: 5_000 } })
      expect(await backlog()).toEqual([])
    })

    it('returns since when the oldest due job of each queue waits, regardless of priority', async () => {
      const from = bench.now()
      await bench.add({ queue: 'b', runAt: { delayMs: 2_000 }, priority: 9 })
      await bench.add({ queue: 'b', runAt: { delayMs: 1_000 }, priority: 0 })
      await bench.add({ queue: 'b', runAt: { delayMs: 9_000 } })
      await bench.add({ queue: 'a', runAt: { delayMs: 3_000 } })
      bench.clock.advance(3_000)
      expect(await backlog()).toEqual([
        { queue: 'a', dead: 0, dueAt: from + 3_000 },
        { queue: 'b', dead: 0, dueAt: from + 1_000 },
      ])
    })

    it('returns since when the oldest due retry waits', async () => {
      await bench.settle(await bench.running(), retry(1_000))
      const from = bench.now()
      await bench.add()
      expect(await backlog()).toEqual([{ queue: 'default', dead: 0, dueAt: from }])
      bench.clock.advance(4_000)
      expect(await backlog()).toEqual([{ queue: 'default', dead: 0, dueAt: from, retryDueAt: from + 1_000 }])
    })

    it('leaves out jobs that wait for a limit, until they could start', async () => {
      if (!bench.store.partitions) return
      await bench.store.setQueue('default', { limits: { partitions: { concurrency: 1 }, from: 'operator' } })
      const from = bench.now()
      for (let count = 0; count < 3; count++) await bench.add({ partition: 'a' })
      const [running] = (await bench.store.claim(bench.request())).jobs
      bench.clock.advance(60_000)
      const phases = async () => {
        const count = async (phase: 'blocked' | 'queued') => (await bench.store.count({ phase }, 10)).value
        const [census] = await bench.store.census({ cap: 10 })
        return [await count('blocked'), await count('queued'), census?.blocked.value, census?.queued.value]
      }
      expect(await backlog()).toEqual([])
      expect(await phases()).toEqual([2, 0, 2, 0])
      await bench.store.settle([bench.settlement(running!, succeeded(), { lane: 'a' })])
      // No claim has looked at the partition since the run ended.
      expect(await backlog()).toEqual([{ queue: 'default', dead: 0, dueAt: from }])
      expect(await phases()).toEqual([0, 2, 0, 2])
    })

    it('leaves out jobs whose deadline has passed', async () => {
      await bench.add({ deadline: { delayMs: 1_000 } })
      bench.clock.advance(1_000)
      expect(await backlog()).toEqual([])
    })

    it('counts dead letters that are neither acknowledged nor discarded, and none with the tag', async () => {
      const from = bench.now()
      const first = await bench.ended(died(), { queue: 'a' })
      bench.clock.advance(1_000)
      const second = await bench.ended(died(), { queue: 'a' })
      await bench.ended(died(), { queue: 'b', tags: ['x', 'quiet'] })
      await bench.ended(died(), { queue: 'b', tags: ['quieter'] })
      expect(await backlog()).toEqual([
        { queue: 'a', dead: 2, deadSince: from },
        { queue: 'b', dead: 1, deadSince: from + 1_000 },
      ])
      await bench.acknowledge([first])
      expect((await backlog())[0]).toEqual({ queue: 'a', dead: 1, deadSince: from + 1_000 })
      await bench.discard([second])
      expect((await backlog()).map(({ queue }) => queue)).toEqual(['b'])
    })

    it('reads at most the requested number of dead jobs, newest first', async () => {
      for (let count = 0; count < 3; count++) {
        await bench.ended(died())
        bench.clock.advance(1_000)
      }
      expect(await backlog({ deadMax: 2 })).toEqual([{ queue: 'default', dead: 2, deadSince: bench.now() - 2_000 }])
    })
  })
}
