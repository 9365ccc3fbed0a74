import type { DeferRequest, NewJob } from '../../../../src/store/store.js'
import { type Bench, died, handedBack, retry, STRANGE_TEXTS, snoozed, succeeded, uuid } from '../bench.js'
import type { Suite } from '../runner.js'

export function dependencyCases(bench: Bench, { describe, expect, it }: Suite): void {
  const DEPENDENCY = 'https://api.example.com'

  describe('dependencies', () => {
    it('stay with a job that was enqueued with one, and are returned by its claim', async () => {
      const job = await bench.running({ dependency: DEPENDENCY })
      expect(job).toMatchObject({ dependency: DEPENDENCY })
      expect(await bench.get(job.id)).toMatchObject({ dependency: DEPENDENCY })
    })

    it('are absent by default, as are pass and fingerprint', async () => {
      const job = await bench.running()
      for (const field of ['dependency', 'pass', 'fingerprint', 'acknowledgedAt', 'redriveId']) {
        expect(await bench.get(job.id)).not.toHaveProperty(field)
        expect(job).not.toHaveProperty(field)
      }
    })

    it.each(STRANGE_TEXTS)('may be %s', async (_name, dependency) => {
      const id = await bench.add({ dependency })
      expect(await bench.listed({ dependency })).toEqual([id])
      await bench.store.defer({ dependency, from: { dueWithinMs: 0 }, delaysMs: [10], pass: 1 })
      bench.clock.advance(10)
      expect(await bench.claimOne()).toMatchObject({ id, dependency, pass: 1 })
    })

    it('are found by a filter', async () => {
      const id = await bench.add({ dependency: DEPENDENCY })
      await bench.add({ dependency: `${DEPENDENCY}/` })
      await bench.add()
      expect(await bench.listed({ dependency: DEPENDENCY })).toEqual([id])
      expect(await bench.listed({ dependency: DEPENDENCY, state: 'waiting' })).toEqual([id])
      expect(await bench.store.count({ dependency: DEPENDENCY, state: 'waiting' }, 5)).toEqual({
        value: 1,
        relation: 'exact',
      })
      expect(await bench.listed({ dependency: DEPENDENCY, state: 'dead' })).toEqual([])
    })

    it('are set by the end of a run on a job that waits again and has none', async () => {
      const job = await bench.running()
      await bench.settle(job, { ...retry(0), dependency: DEPENDENCY })
      expect(await bench.claimOne()).toMatchObject({ id: job.id, dependency: DEPENDENCY })
    })

    it('do not change when a job has one', async () => {
      const job = await bench.running({ dependency: DEPENDENCY })
      await bench.settle(job, { ...retry(0), dependency: 'another' })
      expect(await bench.get(job.id)).toMatchObject({ dependency: DEPENDENCY })
    })

    it.each([
      ['succeeded', succeeded()],
      ['died', died()],
    ])('are not set on a job that %s', async (_word, end) => {
      const id = await bench.ended({ ...end, dependency: DEPENDENCY })
      expect(await bench.get(id)).not.toHaveProperty('dependency')
    })

    it('are not set on a job that was cancelled instead', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      await bench.settle(job, { ...retry(0), dependency: DEPENDENCY, pass: 3 })
      const { dependency, pass } = await bench.get(job.id)
      expect({ dependency, pass }).toEqual({})
    })

    it('are kept by a redrive', async () => {
      const id = await bench.ended(died(), { dependency: DEPENDENCY })
      await bench.redrive([id])
      expect(await bench.get(id)).toMatchObject({ dependency: DEPENDENCY })
    })
  })

  describe('passes', () => {
    it('are set by the end of a run and returned by the next claim', async () => {
      const job = await bench.running({ dependency: DEPENDENCY })
      await bench.settle(job, { ...snoozed(0), pass: 7 })
      expect(await bench.get(job.id)).toMatchObject({ pass: 7 })
      expect(await bench.claimOne()).toMatchObject({ id: job.id, pass: 7 })
    })

    it('may be 0', async () => {
      const job = await bench.running({ dependency: DEPENDENCY })
      await bench.settle(job, { ...snoozed(0), pass: 0 })
      expect(await bench.claimOne()).toMatchObject({ pass: 0 })
    })

    it.each([
      ['another wait', retry(0)],
      ['success', succeeded()],
      ['death', died()],
    ])('are removed by %s', async (_word, end) => {
      const job = await bench.running({ dependency: DEPENDENCY })
      await bench.settle(job, { ...snoozed(0), pass: 7 })
      await bench.settle(await bench.claimOne(), end)
      expect(await bench.get(job.id)).not.toHaveProperty('pass')
    })

    it('stay with a job that is released', async () => {
      const job = await bench.running({ dependency: DEPENDENCY })
      await bench.settle(job, { ...snoozed(0), pass: 7 })
      await bench.settle(await bench.claimOne(), handedBack())
      expect(await bench.get(job.id)).toMatchObject({ pass: 7 })
    })

    it('are removed by a redrive', async () => {
      const id = await bench.add({ dependency: DEPENDENCY })
      await bench.store.defer({ dependency: DEPENDENCY, from: { dueWithinMs: 0 }, delaysMs: [0], pass: 1 })
      await bench.cancel([id])
      await bench.redrive([id])
      expect(await bench.get(id)).not.toHaveProperty('pass')
    })
  })

  describe('defer', () => {
    const defer = (given: Partial<DeferRequest> = {}) =>
      bench.store.defer({
        dependency: DEPENDENCY,
        from: { dueWithinMs: 0 },
        delaysMs: [100, 200, 300],
        pass: 1,
        ...given,
      })
    const add = (given: Partial<NewJob> = {}) => bench.add({ dependency: DEPENDENCY, ...given })
    const delayOf = async (id: string) => (await bench.get(id)).runAt - bench.now()

    it('moves waiting jobs of a dependency to other times and sets their pass', async () => {
      const ids = [await add(), await add()]
      expect(await defer()).toEqual({ moved: 2 })
      expect(await bench.claim()).toEqual([])
      expect(await delayOf(ids[0]!)).toBe(100)
      expect(await delayOf(ids[1]!)).toBe(200)
      bench.clock.advance(100)
      expect(await bench.claim()).toMatchObject([{ id: ids[0], pass: 1 }])
    })

    it('takes jobs by time, then by id', async () => {
      const [a, b, c] = [uuid(0xc0), uuid(0xb0), uuid(0xa0)]
      await bench.store.enqueue([
        bench.job({ id: a!, dependency: DEPENDENCY }),
        bench.job({ id: b!, dependency: DEPENDENCY, runAt: { at: bench.now() - 5 } }),
        bench.job({ id: c!, dependency: DEPENDENCY }),
      ])
      await defer()
      expect([await delayOf(b!), await delayOf(c!), await delayOf(a!)]).toEqual([100, 200, 300])
    })

    it('takes as many as there are delays', async () => {
      const ids = await bench.addMany(5, { dependency: DEPENDENCY })
      expect(await defer({ delaysMs: [10, 10] })).toEqual({ moved: 2 })
      expect((await bench.claim()).map(({ id }) => id)).toEqual(ids.slice(2))
      expect(await defer({ delaysMs: [] })).toEqual({ moved: 0 })
    })

    it('takes only jobs that are due soon, on request', async () => {
      const soon = await add({ runAt: { delayMs: 1000 } })
      const late = await add({ runAt: { delayMs: 1001 } })
      expect(await defer()).toEqual({ moved: 0 })
      expect(await defer({ from: { dueWithinMs: 1000 }, delaysMs: [5000, 5000] })).toEqual({ moved: 1 })
      expect([await delayOf(soon), await delayOf(late)]).toEqual([5000, 1001])
    })

    it('moves no job to an earlier time, but counts it', async () => {
      const id = await add({ runAt: { delayMs: 1000 } })
      expect(await defer({ from: { dueWithinMs: 2000 }, delaysMs: [10] })).toEqual({ moved: 1 })
      expect(await delayOf(id)).toBe(1000)
      expect(await bench.get(id)).toMatchObject({ pass: 1 })
    })

    it('rounds up: never before its time', async () => {
      const id = await add()
      await defer({ delaysMs: [10.2] })
      expect(await delayOf(id)).toBe(11)
    })

    it('leaves jobs that already have the pass, so that a repeated call continues with the others', async () => {
      const ids = await bench.addMany(3, { dependency: DEPENDENCY })
      const soon = { from: { dueWithinMs: 10_000 }, delaysMs: [50, 60] }
      expect(await defer(soon)).toEqual({ moved: 2 })
      expect(await defer(soon)).toEqual({ moved: 1 })
      expect(await defer(soon)).toEqual({ moved: 0 })
      expect(await Promise.all(ids.map(delayOf))).toEqual([50, 60, 50])
    })

    it('leaves a due job that was called to probe, so that another process does not defer it again', async () => {
      const [called, other] = [await add(), await add()]
      await defer({ delaysMs: [10, 10] })
      expect(await defer({ from: { pass: 1 }, delaysMs: [0], pass: -1 })).toEqual({ moved: 1 })
      expect(await defer({ from: { dueWithinMs: 2_000 }, delaysMs: [10, 10], pass: 1 })).toEqual({ moved: 0 })
      expect(await bench.claim()).toMatchObject([{ id: called, pass: -1 }])
      expect(await bench.get(other)).toMatchObject({ state: 'waiting', pass: 1 })
      await add()
      // In the next round it is like any other.
      expect(await defer({ from: { dueWithinMs: 2_000 }, delaysMs: [10, 10], pass: 2 })).toEqual({ moved: 2 })
    })

    it('takes jobs with another pass at any time, and may move them to an earlier time', async () => {
      const ids = await bench.addMany(3, { dependency: DEPENDENCY })
      await defer({ delaysMs: [60_000, 70_000] })
      expect(await defer({ from: { pass: 1 }, delaysMs: [5, 6, 7], pass: 2 })).toEqual({ moved: 2 })
      expect(await Promise.all(ids.map(delayOf))).toEqual([5, 6, 0])
      expect(await bench.get(ids[0]!)).toMatchObject({ pass: 2 })
      expect(await bench.get(ids[2]!)).not.toHaveProperty('pass')
    })

    it('takes no jobs if both passes are the same', async () => {
      await add()
      await defer()
      expect(await defer({ from: { pass: 1 } })).toEqual({ moved: 0 })
      expect(await defer({ from: { pass: 9 }, pass: 2 })).toEqual({ moved: 0 })
    })

    it('leaves jobs of other dependencies and of none, and those that run or have ended', async () => {
      await bench.ended(died(), { dependency: DEPENDENCY })
      await bench.running({ dependency: DEPENDENCY })
      const others = [await bench.add({ dependency: 'other' }), await bench.add()]
      expect(await defer()).toEqual({ moved: 0 })
      expect((await bench.claim()).map(({ id }) => id)).toEqual(others)
    })

    it('takes only retries, on request; a run that did not count does not make a retry', async () => {
      const ids = await bench.addMany(2, { dependency: DEPENDENCY })
      const [first, second] = await bench.claim()
      await bench.settle(first!, retry(0))
      await bench.settle(second!, snoozed(0))
      ids.push(await add())
      expect(await defer({ retriesOnly: true })).toEqual({ moved: 1 })
      expect(await Promise.all(ids.map(delayOf))).toEqual([100, 0, 0])
    })

    it('takes only jobs that may start twice, on request', async () => {
      const once = await add({ delivery: 'at-most-once' })
      const often = await add()
      expect(await defer({ repeatableOnly: true })).toEqual({ moved: 1 })
      expect([await delayOf(once), await delayOf(often)]).toEqual([0, 100])
    })

    it('does not move the job in `exceptId`', async () => {
      const ids = [await add(), await add()]
      expect(await defer({ exceptId: ids[0]! })).toEqual({ moved: 1 })
      expect(await Promise.all(ids.map(delayOf))).toEqual([0, 100])
    })

    it('leaves a job whose deadline has passed to the sweeper', async () => {
      const id = await add({ deadline: { delayMs: 5 } })
      bench.clock.advance(5)
      expect(await defer()).toEqual({ moved: 0 })
      expect(await bench.expireDeadlines(5)).toMatchObject([{ id, reason: 'expired' }])
    })

    it('changes the time and the pass of a job, and nothing else', async () => {
      await bench.settle(
        await bench.running({ dependency: DEPENDENCY, priority: 8, tags: ['t'], unique: 'u' }),
        retry(0),
      )
      const [id] = await bench.listed({})
      const before = await bench.get(id!)
      await defer()
      expect(await bench.get(id!)).toEqual({ ...before, runAt: bench.now() + 100, pass: 1 })
      expect(await bench.history(id!)).toHaveLength(1)
    })

    it('never takes a job that is being claimed', async () => {
      await bench.addMany(60, { dependency: DEPENDENCY })
      const calls = Array.from({ length: 6 }, (_, index) =>
        index % 2 === 0
          ? bench.claim({ limit: 10 }).then(jobs => jobs.length)
          : defer({ delaysMs: Array(10).fill(1000) }).then(({ moved }) => moved),
      )
      const [held, moved] = [0, 1].map(from => calls.filter((_, index) => index % 2 === from))
      const sum = async (counts: Promise<number>[]) => (await Promise.all(counts)).reduce((a, b) => a + b, 0)
      const [running, deferred] = [await sum(held!), await sum(moved!)]
      expect(await bench.store.count({ state: 'running' }, 100)).toMatchObject({ value: running })
      expect(await bench.store.count({ phase: 'blocked' }, 100)).toMatchObject({ value: deferred })
      expect(running + deferred).toBeLessThanOrEqual(60)
    })
  })
}
