import type { PruneRequest } from '../../../../src/store/store.js'
import { type Bench, cancelled, died, leaseOf, retry, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function pruneCases(bench: Bench, { describe, expect, it }: Suite): void {
  const prune = (olderThanMs: PruneRequest['olderThanMs'], given: Partial<PruneRequest> = {}) =>
    bench.store.prune({ olderThanMs, keyMs: 1000, limit: 100, ...given })
  const EVERYTHING = { succeeded: 0, dead: 0, cancelled: 0 }

  describe('prune', () => {
    it('removes ended jobs that are old enough, by state', async () => {
      const good = await bench.ended(succeeded())
      const bad = await bench.ended(died())
      const gone = await bench.ended(cancelled())
      bench.clock.advance(1000)
      expect(await prune({ succeeded: 1000, dead: 1001, cancelled: 1000 })).toEqual({
        pruned: { succeeded: 1, dead: 0, cancelled: 1 },
        keys: 0,
      })
      expect(await bench.store.get(good)).toBeUndefined()
      expect(await bench.store.get(gone)).toBeUndefined()
      expect(await bench.store.get(bad)).toBeDefined()
    })

    it('keeps jobs in states that are not named', async () => {
      await bench.ended(succeeded())
      await bench.ended(died())
      bench.clock.advance(365 * 86_400_000)
      expect(await prune({ succeeded: 0 })).toMatchObject({ pruned: { succeeded: 1, dead: 0 } })
      expect(await prune({})).toMatchObject({ pruned: { succeeded: 0, dead: 0, cancelled: 0 } })
      expect(await bench.store.count({ state: 'dead' }, 5)).toMatchObject({ value: 1 })
    })

    it('never touches unfinished work, however old', async () => {
      const waiting = await bench.add({ runAt: { delayMs: 1e12 } })
      await bench.settle(await bench.running(), retry(1e12))
      const running = await bench.running()
      bench.clock.advance(1e11)
      expect(await prune(EVERYTHING)).toMatchObject({ pruned: { succeeded: 0, dead: 0, cancelled: 0 } })
      expect(await bench.store.count({}, 10)).toMatchObject({ value: 3 })
      expect(await bench.get(waiting)).toMatchObject({ state: 'waiting' })
      expect(await bench.settle(running, succeeded())).toMatchObject({ status: 'settled' })
    })

    it('counts the age from the end, not from the start', async () => {
      const job = await bench.running()
      bench.clock.advance(5000)
      await bench.settle(job, succeeded())
      bench.clock.advance(999)
      expect(await prune({ succeeded: 1000 })).toMatchObject({ pruned: { succeeded: 0 } })
      bench.clock.advance(1)
      expect(await prune({ succeeded: 1000 })).toMatchObject({ pruned: { succeeded: 1 } })
    })

    it('removes no more than the limit, oldest first', async () => {
      const ids: string[] = []
      for (const end of [succeeded(), died(), succeeded(), died(), cancelled()]) {
        ids.push(await bench.ended(end))
        bench.clock.advance(1)
      }
      expect(await prune(EVERYTHING, { limit: 3 })).toEqual({
        pruned: { succeeded: 2, dead: 1, cancelled: 0 },
        keys: 0,
      })
      expect((await bench.store.list({}, { limit: 10 })).data.map(({ id }) => id)).toEqual([ids[4], ids[3]])
      expect(await prune(EVERYTHING, { limit: 3 })).toMatchObject({ pruned: { dead: 1, cancelled: 1 } })
      expect(await prune(EVERYTHING, { limit: 3 })).toMatchObject({ pruned: { dead: 0, cancelled: 0 } })
    })

    it('removes everything that belongs to a job', async () => {
      const job = await bench.running({ payload: JSON.stringify('x'.repeat(5000)) })
      await bench.store.report([{ lease: leaseOf(job), logs: [{ at: 1, message: 'x' }] }])
      await bench.settle(job, succeeded())
      await prune(EVERYTHING)
      expect(await bench.history(job.id)).toEqual([])
      expect(await bench.logs(job.id)).toEqual([])
    })

    it('finds old jobs behind many that it keeps', async () => {
      await bench.addMany(4500, { runAt: { delayMs: 1e12 } })
      await bench.ended(died())
      await bench.ended(succeeded())
      bench.clock.advance(10)
      expect(await prune({ succeeded: 10 })).toMatchObject({ pruned: { succeeded: 1, dead: 0 } })
    })

    it('removes many', async () => {
      await bench.addMany(500)
      const jobs = await bench.claim({ limit: 500 })
      await bench.store.settle(jobs.map(job => bench.settlement(job, succeeded())))
      expect(await prune(EVERYTHING, { limit: 1000 })).toMatchObject({ pruned: { succeeded: 500 } })
      expect(await bench.store.count({}, 10)).toMatchObject({ value: 0 })
    })

    it('keeps a redriven job', async () => {
      const id = await bench.ended(died())
      await bench.redrive([id])
      bench.clock.advance(1000)
      expect(await prune(EVERYTHING)).toMatchObject({ pruned: { dead: 0 } })
      expect(await bench.get(id)).toMatchObject({ state: 'waiting' })
    })

    it('never removes the key of an existing job', async () => {
      await bench.add({ key: 'waiting', payloadHash: 'h', runAt: { delayMs: 1e12 } })
      await bench.ended(died(), { key: 'dead', payloadHash: 'h' })
      bench.clock.advance(1e11)
      expect(await prune({ succeeded: 0 })).toMatchObject({ keys: 0 })
      for (const key of ['waiting', 'dead'])
        expect(await bench.store.enqueue([bench.job({ key, payloadHash: 'h' })])).toMatchObject([
          { status: 'existing' },
        ])
    })

    it('removes keys when their time is over, and counts them', async () => {
      for (const key of ['a', 'b', 'c']) await bench.ended(succeeded(), { key, payloadHash: 'h' })
      expect(await prune(EVERYTHING)).toMatchObject({ keys: 0 })
      bench.clock.advance(999)
      expect(await prune(EVERYTHING)).toMatchObject({ keys: 0 })
      bench.clock.advance(1)
      expect(await prune(EVERYTHING, { limit: 2 })).toMatchObject({ keys: 2 })
      expect(await prune(EVERYTHING, { limit: 2 })).toMatchObject({ keys: 1 })
      expect(await prune(EVERYTHING)).toMatchObject({ keys: 0 })
    })

    it('has nothing to do in an empty store', async () => {
      expect(await prune(EVERYTHING)).toEqual({ pruned: { succeeded: 0, dead: 0, cancelled: 0 }, keys: 0 })
    })
  })
}
