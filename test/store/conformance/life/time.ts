import { type Bench, LEASE_MS, leaseOf, retry } from '../bench.js'
import type { Suite } from '../runner.js'

export function timeCases(bench: Bench, { describe, expect, it }: Suite): void {
  describe('time', () => {
    it('comes from the clock of the store', async () => {
      expect((await bench.store.info()).now).toBe(bench.now())
      bench.clock.advance(123)
      expect((await bench.store.info()).now).toBe(bench.now())
      expect((await bench.store.claim(bench.request())).now).toBe(bench.now())
      expect((await bench.store.expired({ workers: 1 })).now).toBe(bench.now())
    })

    it('is added to delays on arrival', async () => {
      bench.clock.advance(1000)
      const job = await bench.running()
      expect(job.createdAt).toBe(bench.now())
      bench.clock.advance(1000)
      expect(await bench.settle(job, retry(250))).toMatchObject({ runAt: bench.now() + 250 })
    })

    it('supports a job that is due in a century', async () => {
      const century = 100 * 365 * 86_400_000
      const id = await bench.add({ runAt: { delayMs: century } })
      expect((await bench.store.claim(bench.request())).nextDueAt).toBe(bench.now() + century)
      bench.clock.advance(century)
      expect((await bench.claimOne()).id).toBe(id)
    })

    it('may stand still: events of one moment keep their order', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(0))
      const again = await bench.claimOne()
      expect(again).toMatchObject({ id: job.id, run: 2, startedAt: bench.now(), firstStartedAt: bench.now() })
      expect(await bench.store.extend([leaseOf(again)], LEASE_MS)).toEqual(['held'])
    })
  })

  describe('the store itself', () => {
    it('reports its kind, versions and location', async () => {
      const info = await bench.store.info()
      expect(info.kind).toBe(bench.store.kind)
      expect(info.schemaVersion).toBeGreaterThan(0)
      expect(info.engine).toMatch(/\w/)
      expect(info.location).toMatch(/\w/)
    })

    it('can be migrated again', async () => {
      await bench.add()
      const { to } = await bench.store.migrate()
      expect(to).toBe((await bench.store.info()).schemaVersion)
      expect(await bench.store.count({}, 5)).toMatchObject({ value: 1 })
    })

    it('refuses everything once it is closed, and may be closed again', async () => {
      await bench.store.close()
      const closed = { code: 'CLOSED' }
      await expect(bench.store.enqueue([bench.job()])).rejects.toMatchObject(closed)
      await expect(bench.store.claim(bench.request())).rejects.toMatchObject(closed)
      await expect(bench.store.get(bench.id())).rejects.toMatchObject(closed)
      await expect(bench.store.list({}, { limit: 1 })).rejects.toMatchObject(closed)
      await bench.store.close()
    })

    it('completes earlier calls before it closes', async () => {
      const answers = Promise.all(Array.from({ length: 10 }, () => bench.store.enqueue([bench.job()])))
      await bench.store.close()
      expect((await answers).flat()).toHaveLength(10)
    })

    it('completes earlier reads before it closes', async () => {
      for (let queue = 0; queue < 8; queue++) await bench.add({ queue: `q${queue}` })
      const [page, count, queues, backlog, pruned] = [
        bench.store.list({ text: 'send' }, { limit: 5, lookAt: 1000 }),
        bench.store.count({}, 100),
        bench.store.census({ cap: 100 }),
        bench.store.backlog({ exceptTag: 'none', deadMax: 100 }),
        bench.store.prune({ olderThanMs: { succeeded: 0, dead: 0, cancelled: 0 }, keyMs: 0, limit: 10 }),
      ]
      await bench.store.close()
      expect((await page).data).toHaveLength(5)
      expect((await count).value).toBe(8)
      expect((await queues).length).toBe(8)
      expect((await backlog).length).toBe(8)
      expect(await pruned).toMatchObject({ pruned: { succeeded: 0 } })
    })

    it('does not wake its own watchers for its own work, and a watch can be stopped twice', async () => {
      // A store that listens calls once when it starts to, because it may have missed earlier work.
      const mostCalls = bench.store.announcesWork ? 1 : 0
      const calls = [0, 0]
      const stops = calls.map((_, watcher) =>
        bench.store.watch(() => {
          calls[watcher]! += 1
        }),
      )
      await bench.addMany(3)
      await bench.add()
      await bench.claimOne()
      for (const stop of [...stops, ...stops]) expect(stop()).toBeUndefined()
      for (const count of calls) expect(count).toBeLessThanOrEqual(mostCalls)
    })
  })
}
