import { type Bench, handedBack, LEASE_MS, leaseOf, lost, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function heldCases(bench: Bench, { describe, expect, it }: Suite): void {
  const heldIds = async (token: string) => (await bench.store.held(token)).jobs.map(({ id }) => id)

  describe('held', () => {
    it('returns the jobs of a claim, in the order of the claim', async () => {
      await bench.add({ priority: 2, queue: 'a' })
      await bench.add({ priority: 7, queue: 'b', tags: ['x'], payload: '{"n":1}' })
      await bench.add({ priority: 7, queue: 'a' })
      bench.clock.advance(5)
      const token = bench.token()
      const claimed = await bench.claim({ token, queues: ['a', 'b'] })
      expect(claimed).toHaveLength(3)
      expect(await bench.store.held(token)).toEqual({ now: bench.now(), jobs: claimed })
    })

    it('returns no jobs for a token without a claim, and claims none', async () => {
      const id = await bench.add()
      expect(await bench.store.held(bench.token())).toEqual({ now: bench.now(), jobs: [] })
      expect(await bench.get(id)).toMatchObject({ state: 'waiting', run: 0 })
    })

    it('returns only the jobs of this token', async () => {
      await bench.addMany(2)
      const [first, second] = [await bench.claimOne(), await bench.claimOne()]
      expect(await heldIds(first.token)).toEqual([first.id])
      expect(await heldIds(second.token)).toEqual([second.id])
    })

    it('leaves out runs that have ended or were released', async () => {
      await bench.addMany(3)
      const [done, back, running] = await bench.claim()
      await bench.settle(done!, succeeded())
      await bench.settle(back!, handedBack(1_000))
      expect(await heldIds(running!.token)).toEqual([running!.id])
    })

    it('leaves out a job that another worker has claimed since', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS + 1)
      await bench.settle(job, lost(), { onlyIfExpired: true })
      const again = await bench.claimOne({ workerId: 'other' })
      expect(await heldIds(job.token)).toEqual([])
      expect(await heldIds(again.token)).toEqual([job.id])
    })

    it('returns an expired lease until another process takes it, and does not renew it', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS + 1)
      expect((await bench.store.held(job.token)).jobs).toMatchObject([{ id: job.id, leaseUntil: bench.now() - 1 }])
      expect((await bench.store.expired({ workers: 9 })).jobs).toMatchObject([{ id: job.id }])
    })

    it('shows a renewed lease and a request to cancel', async () => {
      const job = await bench.running()
      bench.clock.advance(1_000)
      await bench.store.extend([leaseOf(job)], LEASE_MS)
      await bench.cancel([job.id])
      expect((await bench.store.held(job.token)).jobs).toMatchObject([
        { id: job.id, leaseUntil: bench.now() + LEASE_MS, cancelRequested: true },
      ])
    })
  })
}
