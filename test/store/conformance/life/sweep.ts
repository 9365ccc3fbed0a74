import { type Bench, LEASE_MS, leaseOf, lost, retry } from '../bench.js'
import type { Suite } from '../runner.js'

export function sweepCases(bench: Bench, { describe, expect, it }: Suite): void {
  const expired = async (workers = 10) => (await bench.store.expired({ workers })).jobs

  describe('expired', () => {
    it('finds nothing while leases are valid', async () => {
      await bench.running()
      bench.clock.advance(LEASE_MS)
      expect(await bench.store.expired({ workers: 10 })).toEqual({ now: bench.now(), jobs: [] })
    })

    it('finds the only job of a worker whose lease expired, marked as alone', async () => {
      const job = await bench.running({ tenantId: 'acme', payload: '7' })
      bench.clock.advance(LEASE_MS + 1)
      const { workerId, token, leaseUntil } = job
      const [found] = await expired()
      expect(found).toMatchObject({
        id: job.id,
        workerId,
        token,
        leaseUntil,
        alone: true,
        run: 1,
        payload: '7',
        tenantId: 'acme',
      })
    })

    it('finds all jobs of a worker that is gone, not marked as alone', async () => {
      const ids = await bench.addMany(3)
      await bench.claim({ limit: 2 })
      bench.clock.advance(5)
      await bench.claim({ limit: 1 })
      bench.clock.advance(LEASE_MS + 1)
      const jobs = await expired()
      expect(jobs.map(({ id }) => id).sort()).toEqual(ids)
      expect(jobs.every(({ alone }) => !alone)).toBe(true)
    })

    it('waits for a worker that still holds another lease', async () => {
      await bench.running()
      bench.clock.advance(LEASE_MS / 2)
      await bench.running()
      bench.clock.advance(LEASE_MS / 2 + 1)
      expect(await expired()).toEqual([])
    })

    it('finds only the leases that expired a lease time ago if the worker still renews others', async () => {
      const old = await bench.running()
      bench.clock.advance(LEASE_MS)
      const fresh = await bench.running()
      bench.clock.advance(LEASE_MS)
      await bench.store.extend([leaseOf(fresh)], LEASE_MS)
      expect(await expired()).toEqual([])
      bench.clock.advance(1)
      expect(await expired()).toMatchObject([{ id: old.id, alone: false }])
    })

    it('distinguishes workers', async () => {
      const dead = await bench.running({}, { workerId: 'dead' })
      bench.clock.advance(1)
      await bench.running({}, { workerId: 'alive' })
      bench.clock.advance(LEASE_MS)
      expect(await expired()).toMatchObject([{ id: dead.id, workerId: 'dead', alone: true }])
    })

    it('counts the workers of one process as one, because they end together', async () => {
      await bench.running({}, { workerId: 'host~2' })
      bench.clock.advance(LEASE_MS / 2)
      await bench.running({}, { workerId: 'host' })
      const other = await bench.running({}, { workerId: 'host-2' })
      bench.clock.advance(LEASE_MS / 2 + 1)
      expect(await expired()).toEqual([])
      bench.clock.advance(LEASE_MS / 2)
      const found = (await expired()).map(({ workerId, alone }) => [workerId, alone])
      expect(found).toEqual([
        ['host~2', false],
        ['host', false],
        [other.workerId, true],
      ])
    })

    it('finds at most the requested number of workers, longest silent first', async () => {
      for (const workerId of ['c', 'a', 'b']) {
        await bench.running({}, { workerId })
        bench.clock.advance(1)
      }
      bench.clock.advance(LEASE_MS)
      expect((await expired(2)).map(({ workerId }) => workerId)).toEqual(['c', 'a'])
      expect((await expired(3)).map(({ workerId }) => workerId)).toEqual(['c', 'a', 'b'])
    })

    it('does not let workers that are only late hide one that is gone', async () => {
      await bench.running({}, { workerId: 'late' })
      bench.clock.advance(1)
      await bench.running({}, { workerId: 'gone' })
      bench.clock.advance(LEASE_MS - 1)
      await bench.running({}, { workerId: 'late' })
      bench.clock.advance(2)
      expect((await expired(1)).map(({ workerId }) => workerId)).toEqual(['gone'])
    })

    it('returns the fields that a settlement needs', async () => {
      await bench.running()
      bench.clock.advance(LEASE_MS + 1)
      const [job] = await expired()
      expect(await bench.settle(job!, lost(), { onlyIfExpired: true })).toMatchObject({ status: 'settled' })
      expect(await expired()).toEqual([])
    })

    it('says which of the lost runs had begun', async () => {
      await bench.addMany(2)
      const jobs = await bench.claim({ limit: 2 })
      await bench.store.begin([leaseOf(jobs[1]!)])
      bench.clock.advance(LEASE_MS + 1)
      const found = new Map((await expired()).map(({ id, begun }) => [id, begun]))
      expect(jobs.map(({ id }) => found.get(id))).toEqual([false, true])
    })

    it('keeps the attempt of a lost run that counts, and gives back one that does not', async () => {
      const counted = await bench.running()
      bench.clock.advance(LEASE_MS + 1)
      await bench.settle(counted, lost({ attemptBack: false }), { onlyIfExpired: true })
      expect(await bench.get(counted.id)).toMatchObject({ state: 'waiting', attempt: 1, run: 1 })
      const free = await bench.claimOne()
      bench.clock.advance(LEASE_MS + 1)
      await bench.settle(free, lost(), { onlyIfExpired: true })
      expect(await bench.get(free.id)).toMatchObject({ state: 'waiting', attempt: 1, run: 2 })
    })

    it('does not find a job that was settled', async () => {
      await bench.settle(await bench.running(), retry(0))
      bench.clock.advance(LEASE_MS * 2)
      expect(await expired()).toEqual([])
    })

    it('uses the lease time of every job, including a changed one', async () => {
      const short = await bench.running({}, { leaseMs: 1000 })
      const long = await bench.running({}, { leaseMs: 1000 })
      await bench.store.extend([leaseOf(long)], LEASE_MS)
      bench.clock.advance(2000)
      expect(await expired()).toEqual([])
      bench.clock.advance(1)
      expect(await expired()).toMatchObject([{ id: short.id }])
    })
  })

  describe('expireDeadlines', () => {
    it('ends waiting jobs whose deadline has come', async () => {
      const id = await bench.add({ deadline: { delayMs: 100 }, runAt: { delayMs: 500 } })
      bench.clock.advance(99)
      expect(await bench.expireDeadlines(10)).toEqual([])
      bench.clock.advance(1)
      const jobs = await bench.expireDeadlines(10)
      expect(jobs).toMatchObject([{ id, state: 'dead', reason: 'expired', finishedAt: bench.now() }])
      expect(await bench.get(id)).toEqual(jobs[0])
    })

    it('writes no run for a job that did not run', async () => {
      const id = await bench.add({ deadline: { delayMs: 0 } })
      await bench.expireDeadlines(10)
      expect(await bench.history(id)).toEqual([])
    })

    it('also ends a job that waits for a retry, with its error', async () => {
      const job = await bench.running({ deadline: { delayMs: 100 } })
      await bench.settle(job, retry(1000))
      bench.clock.advance(100)
      expect(await bench.expireDeadlines(10)).toMatchObject([{ id: job.id, attempt: 1, error: { message: 'boom' } }])
    })

    it('leaves running and ended jobs alone', async () => {
      const running = await bench.running({ deadline: { delayMs: 10 } })
      const id = await bench.add({ deadline: { delayMs: 10 } })
      await bench.cancel([id])
      bench.clock.advance(10)
      expect(await bench.expireDeadlines(10)).toEqual([])
      expect(await bench.get(running.id)).toMatchObject({ state: 'running' })
    })

    it('ends at most the requested number of jobs, longest overdue first', async () => {
      const late = await bench.add({ deadline: { delayMs: 30 } })
      const first = await bench.add({ deadline: { delayMs: 10 } })
      const second = await bench.add({ deadline: { delayMs: 20 } })
      bench.clock.advance(50)
      expect((await bench.expireDeadlines(2)).map(({ id }) => id)).toEqual([first, second])
      expect((await bench.expireDeadlines(2)).map(({ id }) => id)).toEqual([late])
      expect(await bench.expireDeadlines(2)).toEqual([])
    })

    it('ends jobs of a paused queue too', async () => {
      await bench.add({ deadline: { delayMs: 0 } })
      await bench.store.setQueue('default', { paused: true })
      expect(await bench.expireDeadlines(10)).toHaveLength(1)
    })

    it('frees the `unique` value', async () => {
      await bench.add({ deadline: { delayMs: 0 }, unique: 'u' })
      await bench.expireDeadlines(10)
      expect(await bench.store.enqueue([bench.job({ unique: 'u' })])).toMatchObject([{ status: 'created' }])
    })
  })
}
