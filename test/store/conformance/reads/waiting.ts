import { type Bench, retry } from '../bench.js'
import type { Suite } from '../runner.js'

export function waitingCases(bench: Bench, { describe, expect, it }: Suite): void {
  const retrying = async (delayMs: number, given = {}) => {
    const job = await bench.running({ priority: 9, ...given })
    await bench.settle(job, retry(delayMs))
    return job.id
  }

  describe('waiting', () => {
    const request = { lookAt: 100, limit: 100 }

    it('groups waiting jobs by queue, policy and attempt, over all priorities', async () => {
      const now = bench.now()
      const first = await retrying(60_000)
      await retrying(90_000, { priority: 8 })
      await retrying(5_000, { queue: 'other' })
      await bench.addMany(3)
      await bench.running({ priority: 9 })
      const { groups, complete, ...rest } = await bench.store.waiting(request)
      expect(rest.now).toBe(now)
      expect(complete).toBe(true)
      expect(groups).toMatchObject([
        { queue: 'default', attempt: 0, jobs: 3, startAt: [now, now], elapsedMs: [0, 0] },
        { queue: 'default', attempt: 1, jobs: 2, startAt: [now + 60_000, now + 90_000], sampleId: first },
        { queue: 'other', attempt: 1, jobs: 1, startAt: [now + 5_000, now + 5_000], elapsedMs: [5_000, 5_000] },
      ])
      expect(groups[0]).not.toHaveProperty('deadline')
    })

    it('keeps jobs apart that the rules treat differently', async () => {
      await bench.add({ delivery: 'at-most-once' })
      await bench.add({ override: { maxRetries: 1 } })
      await bench.add({ deadline: { delayMs: 60_000 } })
      await bench.add({ deadline: { delayMs: 90_000 }, runAt: { delayMs: 100_000 } })
      await bench.add({ dependency: 'api', tenantId: 'a' })
      await bench.add({ dependency: 'api', tenantId: 'b' })
      await bench.add({ tenantId: 'a' })
      await bench.add({ tenantId: 'b' })
      await bench.add({ fingerprint: 'f1' })
      const now = bench.now()
      const { groups } = await bench.store.waiting(request)
      expect(groups.map(({ jobs }) => jobs)).toEqual([2, 2, 1, 1, 1, 1, 1])
      expect(groups[0]).toMatchObject({ deadline: [now + 60_000, now + 90_000], leftMs: [-10_000, 60_000] })
      expect(groups[1]).not.toHaveProperty('tenantId')
      expect(groups.slice(2)).toMatchObject([
        { delivery: 'at-most-once' },
        { override: { maxRetries: 1 } },
        { dependency: 'api', tenantId: 'a' },
        { dependency: 'api', tenantId: 'b' },
        { fingerprint: 'f1' },
      ])
    })

    it('returns only what is asked for', async () => {
      await bench.add({ queue: 'a', dependency: 'api', tenantId: 'x' })
      await bench.add({ queue: 'b', dependency: 'api' })
      await bench.add({ queue: 'b', fingerprint: 'f1', tenantId: 'x' })
      await retrying(1_000, { queue: 'a' })
      const jobs = async (given: object) => {
        const { groups } = await bench.store.waiting({ ...request, ...given })
        return groups.reduce((sum, group) => sum + group.jobs, 0)
      }
      expect(await jobs({})).toBe(4)
      expect(await jobs({ queue: 'a' })).toBe(2)
      expect(await jobs({ queue: 'none' })).toBe(0)
      expect(await jobs({ exceptQueue: 'a' })).toBe(2)
      expect(await jobs({ dependency: 'api' })).toBe(2)
      expect(await jobs({ dependency: 'api', tenantId: 'x' })).toBe(1)
      expect(await jobs({ dependency: 'api', tenantId: null })).toBe(1)
      expect(await jobs({ dependency: 'api', queue: 'b' })).toBe(1)
      expect(await jobs({ dependency: 'none' })).toBe(0)
      expect(await jobs({ fingerprint: 'f1' })).toBe(1)
      expect(await jobs({ tenantId: 'x' })).toBe(2)
      expect(await jobs({ retriesOnly: true })).toBe(1)
    })

    it('reads the first jobs only, and reports that it stopped', async () => {
      await bench.addMany(150, { runAt: { delayMs: 60_000 }, dependency: 'api' })
      await bench.add({ dependency: 'api' })
      expect(await bench.store.waiting({ lookAt: 151, limit: 5 })).toMatchObject({ complete: true })
      const cut = await bench.store.waiting({ lookAt: 100, limit: 5 })
      expect(cut).toMatchObject({
        complete: false,
        groups: [{ jobs: 100, startAt: [bench.now(), bench.now() + 60_000] }],
      })
      const ofApi = await bench.store.waiting({ lookAt: 10, limit: 5, dependency: 'api' })
      expect(ofApi).toMatchObject({
        complete: false,
        groups: [{ jobs: 10, startAt: [bench.now(), bench.now() + 60_000] }],
      })
      await bench.add({ delivery: 'at-most-once' })
      expect(await bench.store.waiting({ lookAt: 1_000, limit: 1 })).toMatchObject({
        complete: false,
        groups: [{ jobs: 151 }],
      })
    })
  })
}
