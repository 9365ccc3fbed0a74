import { type Bench, handedBack, LEASE_MS, leaseOf, lost, retry, snoozed, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function claimCases(bench: Bench, { describe, expect, it }: Suite): void {
  const idsOf = (jobs: readonly { id: string }[]) => jobs.map(({ id }) => id)

  describe('claim', () => {
    it('makes a waiting job run, with a lease', async () => {
      const id = await bench.add()
      const request = bench.request({ workerId: 'w-7' })
      const { now, jobs, nextDueAt } = await bench.store.claim(request)
      expect(now).toBe(bench.now())
      expect(nextDueAt).toBeUndefined()
      expect(jobs).toMatchObject([{ id }])
      expect(jobs[0]).toMatchObject({
        id,
        token: request.token,
        workerId: 'w-7',
        leaseUntil: bench.now() + LEASE_MS,
        run: 1,
        attempt: 1,
        startedAt: bench.now(),
        firstStartedAt: bench.now(),
        begun: false,
        cancelRequested: false,
      })
      expect(await bench.get(id)).toMatchObject({ state: 'running', run: 1, attempt: 1, startedAt: bench.now() })
    })

    it('returns every field of a job that a worker needs', async () => {
      const given = {
        name: 'charge-card',
        priority: 7,
        delivery: 'at-most-once',
        payload: '{"a":1}',
        tenantId: 'acme',
        key: 'k',
        payloadHash: 'h',
        tags: ['x'],
        override: { maxRetries: 2 },
        policyId: 'p',
        timeoutMs: 500,
        deadline: { delayMs: 9000 },
      } as const
      const { payloadHash, deadline, ...kept } = given
      const id = await bench.add(given)
      const now = bench.now()
      const times = { deadline: now + 9000, runAt: now, createdAt: now, generation: 1 }
      expect(await bench.claimOne()).toMatchObject({ id, queue: 'default', ...kept, ...times, suspect: false })
    })

    it('never takes a job before its time', async () => {
      const id = await bench.add({ runAt: { delayMs: 1000 } })
      bench.clock.advance(999)
      expect(await bench.claim()).toEqual([])
      bench.clock.advance(1)
      expect(idsOf(await bench.claim())).toEqual([id])
    })

    it('takes no more than the limit', async () => {
      await bench.addMany(5)
      expect(await bench.claim({ limit: 2 })).toHaveLength(2)
      expect(await bench.claim({ limit: 2 })).toHaveLength(2)
      expect(await bench.claim({ limit: 2 })).toHaveLength(1)
    })

    it('takes nothing with a limit of 0', async () => {
      await bench.add()
      expect(await bench.store.claim(bench.request({ limit: 0 }))).toEqual({ now: bench.now(), jobs: [] })
    })

    it('takes the highest priority first', async () => {
      const low = await bench.add({ priority: 0 })
      const middle = await bench.add({ priority: 5 })
      const high = await bench.add({ priority: 9 })
      expect(idsOf(await bench.claim())).toEqual([high, middle, low])
    })

    it('takes the longest due first within a priority', async () => {
      const now = bench.now()
      const second = await bench.add({ runAt: { at: now - 10 } })
      const third = await bench.add({ runAt: { at: now - 5 } })
      const first = await bench.add({ runAt: { at: now - 20 } })
      expect(idsOf(await bench.claim())).toEqual([first, second, third])
    })

    it('takes equal jobs in the order of their enqueue', async () => {
      const ids = await bench.addMany(30)
      expect(idsOf(await bench.claim())).toEqual(ids)
    })

    it('takes a due job while a job of a higher priority is not due yet', async () => {
      await bench.addMany(20, { priority: 9, runAt: { delayMs: 1000 } })
      const id = await bench.add({ priority: 0 })
      expect(idsOf(await bench.claim())).toEqual([id])
    })

    it('fills up from lower priorities', async () => {
      const low = await bench.addMany(2, { priority: 1 })
      const high = await bench.addMany(2, { priority: 8 })
      expect(idsOf(await bench.claim({ limit: 3 }))).toEqual([...high, low[0]])
    })

    it('merges queues by priority and due time', async () => {
      const now = bench.now()
      const b2 = await bench.add({ queue: 'b', runAt: { at: now - 1 } })
      const a1 = await bench.add({ queue: 'a', runAt: { at: now - 3 } })
      const b1 = await bench.add({ queue: 'b', runAt: { at: now - 2 } })
      const urgent = await bench.add({ queue: 'b', priority: 6 })
      const low = await bench.add({ queue: 'a', priority: 2, runAt: { at: now - 9 } })
      expect(idsOf(await bench.claim({ queues: ['a', 'b'], limit: 4 }))).toEqual([urgent, a1, b1, b2])
      expect(idsOf(await bench.claim({ queues: ['a', 'b'] }))).toEqual([low])
    })

    it('takes only from the requested queues', async () => {
      await bench.add({ queue: 'other' })
      const id = await bench.add({ queue: 'mine' })
      expect(idsOf(await bench.claim({ queues: ['mine', 'mine', 'unknown'] }))).toEqual([id])
      expect(await bench.claim({ queues: [] })).toEqual([])
    })

    it('takes nothing from a paused queue, and still takes from others', async () => {
      await bench.add({ queue: 'a' })
      const id = await bench.add({ queue: 'b' })
      await bench.store.setQueue('a', { paused: true })
      expect(idsOf(await bench.claim({ queues: ['a', 'b'] }))).toEqual([id])
      await bench.store.setQueue('a', { paused: false })
      expect(await bench.claim({ queues: ['a', 'b'] })).toHaveLength(1)
    })

    it('takes no job whose deadline has come', async () => {
      const deadline = { delayMs: 100 }
      await bench.addMany(2, { deadline })
      bench.clock.advance(99)
      await bench.claimOne()
      bench.clock.advance(1)
      expect(await bench.claim()).toEqual([])
    })

    it('takes the jobs behind one whose deadline has come', async () => {
      await bench.add({ deadline: { delayMs: 0 }, runAt: { at: 1 } })
      const id = await bench.add()
      expect(idsOf(await bench.claim({ limit: 1 }))).toEqual([id])
    })

    it('gives each job to one worker', async () => {
      const ids = await bench.addMany(60)
      const claims = await Promise.all(
        Array.from({ length: 8 }, (_, index) => bench.claim({ limit: 10, workerId: `w${index}` })),
      )
      const taken = claims.flat().map(({ id }) => id)
      expect(new Set(taken).size).toBe(taken.length)
      expect(taken.sort()).toEqual(ids.sort())
    })

    it('returns the same jobs to the same token after a lost response', async () => {
      await bench.addMany(5)
      const request = bench.request({ limit: 3 })
      const first = await bench.store.claim(request)
      bench.clock.advance(5)
      const second = await bench.store.claim(request)
      expect(idsOf(second.jobs)).toEqual(idsOf(first.jobs))
      expect(second.jobs[0]).toMatchObject({
        run: 1,
        attempt: 1,
        token: request.token,
        leaseUntil: first.now + LEASE_MS,
      })
      expect(await bench.store.count({ state: 'waiting' }, 10)).toMatchObject({ value: 2 })
    })

    it('returns the same jobs in the same order to the same token', async () => {
      await bench.add({ priority: 1 })
      await bench.add({ priority: 9 })
      await bench.add({ runAt: { at: 5 } })
      await bench.add()
      const request = bench.request()
      const first = await bench.store.claim(request)
      expect(idsOf((await bench.store.claim(request)).jobs)).toEqual(idsOf(first.jobs))
    })

    it('returns to the same token only the jobs that it still holds', async () => {
      await bench.addMany(3)
      const request = bench.request({ limit: 2 })
      const [first, second] = (await bench.store.claim(request)).jobs
      await bench.settle(first!, succeeded())
      expect(idsOf((await bench.store.claim(request)).jobs)).toEqual([second!.id])
    })

    it('gives a job the policy that the worker has for its queue and name', async () => {
      const id = await bench.add({ policyId: 'old' })
      expect(await bench.claimOne({ policyIds: { 'default send-mail': 'new' } })).toMatchObject({ policyId: 'new' })
      expect((await bench.get(id)).policyId).toBe('new')
    })

    it('gives a job that carries no policy the one of its queue', async () => {
      await bench.add({ policyId: 'old' })
      await bench.add()
      const jobs = await bench.claim({ policyIds: { default: 'of the queue', other: 'of another' } })
      expect(jobs.map(({ policyId }) => policyId)).toEqual(['old', 'of the queue'])
      expect((await bench.get(jobs[1]!.id)).policyId).toBe('of the queue')
    })

    it.each(['toString', 'constructor', '__proto__'])('finds no policy for the queue %s', async queue => {
      await bench.add({ queue })
      expect(await bench.claimOne({ queues: [queue], policyIds: { other: 'p' } })).not.toHaveProperty('policyId')
    })

    it('takes only jobs with the requested names, and leaves the others in their place', async () => {
      const [a1, b, a2, c] = [
        await bench.add({ name: 'a' }),
        await bench.add({ name: 'b' }),
        await bench.add({ name: 'a', priority: 9 }),
        await bench.add({ name: 'c' }),
      ]
      const only = { list: ['a', 'x'], isExcluded: false }
      expect(idsOf(await bench.claim({ names: only, limit: 1 }))).toEqual([a2])
      expect(idsOf(await bench.claim({ names: only, queues: ['default', 'other'] }))).toEqual([a1])
      expect(await bench.claim({ names: only })).toEqual([])
      expect(idsOf(await bench.claim({ names: { list: ['b'], isExcluded: true } }))).toEqual([c])
      expect(idsOf(await bench.claim())).toEqual([b])
    })

    it('leaves a job its policy where the worker has none', async () => {
      const id = await bench.add({ policyId: 'old' })
      const [bare] = await bench.addMany(1)
      const jobs = await bench.claim({ policyIds: { other: 'new', 'other send-mail': 'new' } })
      expect(jobs[0]).toMatchObject({ id, policyId: 'old' })
      expect(jobs[1]).not.toHaveProperty('policyId')
      expect(await bench.get(id)).toMatchObject({ policyId: 'old' })
      expect(await bench.get(bare!)).not.toHaveProperty('policyId')
    })

    it('gives each of several names its own policy', async () => {
      for (const name of ['a', 'b', 'c', 'a']) await bench.add({ name })
      const jobs = await bench.claim({ policyIds: { 'default a': 'pa', 'default b': 'pb' } })
      expect(jobs.map(({ policyId }) => policyId)).toEqual(['pa', 'pb', undefined, 'pa'])
      for (const job of jobs) expect((await bench.get(job.id)).policyId).toBe(job.policyId)
    })

    it.each(['toString', '__proto__', '$', '[0]', 'a"b', 'a.b'])('finds no policy for the name %s', async name => {
      const id = await bench.add({ name })
      expect(await bench.claimOne({ policyIds: { other: 'p' } })).not.toHaveProperty('policyId')
      expect(await bench.get(id)).not.toHaveProperty('policyId')
    })

    it('counts every run, and keeps the start of the first', async () => {
      const first = await bench.running()
      await bench.settle(first, retry(10))
      bench.clock.advance(10)
      expect(await bench.claimOne()).toMatchObject({
        id: first.id,
        run: 2,
        attempt: 2,
        startedAt: bench.now(),
        firstStartedAt: bench.now() - 10,
      })
    })

    it('returns the results of earlier runs to the worker', async () => {
      const job = await bench.running()
      await bench.settle(job, lost({ losses: 2, strikes: 1, releases: 3, snoozes: 4, backoffMs: 77 }))
      expect(await bench.claimOne()).toMatchObject({
        losses: 2,
        strikes: 1,
        releases: 3,
        snoozes: 4,
        suspect: true,
        backoffMs: 77,
        run: 2,
        attempt: 1,
      })
    })

    it('starts a run as not begun, regardless of the last one', async () => {
      const job = await bench.running()
      await bench.store.begin([leaseOf(job)])
      await bench.settle(job, snoozed(0))
      expect(await bench.claimOne()).toMatchObject({ begun: false })
      expect(await bench.get(job.id)).toMatchObject({ begun: false })
    })

    it('lets first runs of the requested jobs begin, and no others', async () => {
      await bench.add()
      await bench.add({ name: 'other' })
      await bench.add({ queue: 'elsewhere' })
      await bench.add({ delivery: 'at-most-once' })
      await bench.add({ override: { maxRetries: 2 } })
      const again = await bench.add({ runAt: { at: 5 } })
      await bench.settle(await bench.claimOne(), lost())
      const request = bench.request({ queues: ['default', 'elsewhere'], begins: ['default send-mail'] })
      const { jobs } = await bench.store.claim(request)
      expect(jobs).toHaveLength(6)
      expect(jobs.filter(({ begun }) => begun)).toMatchObject([{ run: 1, queue: 'default', name: 'send-mail' }])
      expect(jobs.find(({ id }) => id === again)).toMatchObject({ begun: false, suspect: true })
      for (const { id, begun } of jobs) expect((await bench.get(id)).begun).toBe(begun)
      const repeated = await bench.store.claim(request)
      expect(repeated.jobs.map(({ begun }) => begun)).toEqual(jobs.map(({ begun }) => begun))
      expect(await bench.store.begin(jobs.map(leaseOf))).toEqual(jobs.map(() => 'held'))
    })

    it('takes no job that runs, or has ended', async () => {
      await bench.ended(succeeded())
      await bench.running()
      expect(await bench.claim()).toEqual([])
    })

    it('takes a job that was released', async () => {
      const job = await bench.running()
      await bench.settle(job, handedBack())
      expect(await bench.claimOne()).toMatchObject({ id: job.id, run: 1, attempt: 1 })
    })
  })

  describe('nextDueAt', () => {
    const next = async (queues: string[] = ['default']) =>
      (await bench.store.claim(bench.request({ queues }))).nextDueAt

    it('is when the first waiting job of the queues becomes due, regardless of priority', async () => {
      await bench.add({ runAt: { delayMs: 500 }, priority: 9 })
      await bench.add({ runAt: { delayMs: 300 }, priority: 1 })
      await bench.add({ runAt: { delayMs: 100 }, queue: 'other' })
      expect(await next()).toBe(bench.now() + 300)
      expect(await next(['default', 'other'])).toBe(bench.now() + 100)
    })

    it('is absent when nothing waits', async () => {
      expect(await next()).toBeUndefined()
      await bench.running()
      expect(await next()).toBeUndefined()
    })

    it('is also returned when fewer jobs were due than requested', async () => {
      await bench.add()
      await bench.add({ runAt: { delayMs: 500 } })
      const { jobs, nextDueAt } = await bench.store.claim(bench.request({ limit: 2 }))
      expect(jobs).toHaveLength(1)
      expect(nextDueAt).toBe(bench.now() + 500)
    })

    it('is absent when as many jobs were due as requested, and in the response to a repeated claim', async () => {
      await bench.add()
      await bench.add({ runAt: { delayMs: 500 } })
      const request = bench.request({ limit: 1 })
      expect(await bench.store.claim(request)).not.toHaveProperty('nextDueAt')
      expect(await bench.store.claim({ ...request, limit: 2 })).not.toHaveProperty('nextDueAt')
    })

    it('does not count a paused queue', async () => {
      await bench.add({ runAt: { delayMs: 500 } })
      await bench.store.setQueue('default', { paused: true })
      expect(await next()).toBeUndefined()
    })

    it('does not count a job that is due but past its deadline', async () => {
      await bench.add({ deadline: { delayMs: 0 } })
      await bench.add({ runAt: { delayMs: 500 } })
      expect(await next()).toBe(bench.now() + 500)
    })
  })
}
