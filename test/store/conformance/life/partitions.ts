import type { Limit, PartitionLimits, QueueLimits } from '../../../../src/core/partition/limits.js'
import type { Lesson } from '../../../../src/core/partition/pace.js'
import type { Claimed, NewJob, PartitionRecord, RunEnd } from '../../../../src/store/store.js'
import { type Bench, died, handedBack, retry, snoozed, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

const QUEUE = 'crm'

/** Cases of stores that support limits. */
export function partitionCases(bench: Bench, { describe, expect, it }: Suite): void {
  const limited = (partitions: PartitionLimits, limit?: Limit): Promise<unknown> =>
    setLimits({ partitions, ...(limit && { limit }), from: 'operator' })
  const setLimits = (limits: QueueLimits | null) => bench.store.setQueue(QUEUE, { limits })
  const add = (partition: string | undefined, given: Partial<NewJob> = {}): Promise<string> =>
    bench.add({ queue: QUEUE, ...(partition !== undefined && { partition }), ...given })
  const claim = (limit = 100): Promise<readonly Claimed[]> => bench.claim({ queues: [QUEUE], limit })
  const claimed = async (limit?: number): Promise<string[]> => (await claim(limit)).map(({ id }) => id)
  const end = (job: Claimed, how: RunEnd, more: { spent?: Record<string, number>; lesson?: Lesson } = {}) =>
    bench.settle(job, how, { ...(job.lane !== undefined && { lane: job.lane }), claimedAt: job.startedAt!, ...more })
  const nextDueAt = async () => (await bench.store.claim(bench.request({ queues: [QUEUE] }))).nextDueAt
  const partitions = (): Promise<readonly PartitionRecord[]> =>
    bench.store.partitions!(QUEUE, { limit: 100, cap: 1000 })
  const phases = async (phase: 'queued' | 'blocked' | 'scheduled' | 'retrying') =>
    (await bench.store.count({ queue: QUEUE, phase }, 100)).value

  describe('limits', () => {
    it('let each partition run as many jobs at once as its limit says', async () => {
      await limited({ concurrency: 2 })
      const [a1, a2, a3, b1] = [await add('a'), await add('a'), await add('a'), await add('b')]
      const first = await claim()
      expect(first.map(({ id }) => id).sort()).toEqual([a1, a2, b1].sort())
      expect(first.map(({ lane }) => lane).sort()).toEqual(['a', 'a', 'b'])
      expect(await claimed()).toEqual([])
      await end(first.find(({ id }) => id === a1)!, succeeded())
      expect(await claimed()).toEqual([a3])
      expect(await claimed()).toEqual([])
    })

    it('let a slot be used once for each way in which a run can end', async () => {
      await limited({ concurrency: 1 })
      for (const how of [succeeded(), retry(60_000), died(), snoozed(60_000)]) {
        const [one, two] = [await add('a'), await add('a')]
        const [job, ...others] = await claim()
        expect([job?.id, others.length]).toEqual([one, 0])
        await end(job!, how)
        expect(await end(job!, how)).toEqual({ status: 'already' })
        const [next] = await claim()
        expect(next?.id).toBe(two)
        await end(next!, succeeded())
      }
    })

    it('count a job that was handed back once, and start it again', async () => {
      await limited({ concurrency: 1 })
      const id = await add('a')
      const [job] = await claim()
      await end(job!, handedBack(), { spent: { '': -1 } })
      expect(await claimed()).toEqual([id])
      expect(await claimed()).toEqual([])
    })

    it('keep the slot of a worker that disappeared until its run is ended as lost', async () => {
      await limited({ concurrency: 1 })
      const [, two] = [await add('a'), await add('a')]
      await claim()
      bench.clock.advance(90_000)
      expect(await claimed()).toEqual([])
      const { jobs } = await bench.store.expired({ workers: 10 })
      expect(jobs.map(({ lane }) => lane)).toEqual(['a'])
      await end(jobs[0]!, retry(60_000), {})
      expect(await claimed()).toEqual([two])
    })

    it('take the tenant as the partition of a job without one, and share one partition without either', async () => {
      await limited({ concurrency: 1 })
      const [t1] = [await add(undefined, { tenantId: 't' }), await add(undefined, { tenantId: 't' })]
      const [n1] = [await add(undefined), await add(undefined)]
      const [own] = [await add('own', { tenantId: 't' })]
      expect((await claimed()).sort()).toEqual([t1, n1, own].sort())
    })

    it('hold for the whole queue, over all partitions', async () => {
      await limited({ fair: true }, { concurrency: 3 })
      for (const name of ['a', 'b', 'c', 'd', 'e']) await add(name)
      const first = await claim()
      expect(first.length).toBe(3)
      expect(await claimed()).toEqual([])
      await end(first[0]!, succeeded())
      expect((await claimed()).length).toBe(1)
      expect(await claimed()).toEqual([])
    })

    it('hold for a queue without partitions', async () => {
      await setLimits({ limit: { concurrency: 1 }, from: 'code' })
      const [one, two] = [await add(undefined), await add(undefined)]
      const [job, ...others] = await claim()
      expect([job?.id, others.length]).toEqual([one, 0])
      await end(job!, succeeded())
      expect(await claimed()).toEqual([two])
    })

    it('can be overridden for one partition', async () => {
      await limited({ concurrency: 1, override: { big: { concurrency: 3 } } })
      for (const name of ['big', 'big', 'big', 'big', 'small', 'small']) await add(name)
      const lanes = (await claim()).map(({ lane }) => lane)
      expect(lanes.sort()).toEqual(['big', 'big', 'big', 'small'])
    })

    it('apply to jobs that waited before they were set, and to all again when they are changed', async () => {
      const ids = [await add('a'), await add('a'), await add('a')]
      await limited({ concurrency: 1 })
      expect(await claimed()).toEqual([ids[0]])
      expect(await claimed()).toEqual([])
      await limited({ concurrency: 2 })
      expect(await claimed()).toEqual([ids[1]])
      await setLimits(null)
      expect(await claimed()).toEqual([ids[2]])
    })

    it('end with their removal, also for new jobs', async () => {
      await limited({ concurrency: 1 })
      await add('a')
      await claim()
      await setLimits(null)
      const [two, three] = [await add('a'), await add(undefined)]
      expect((await claimed()).sort()).toEqual([two, three].sort())
    })

    it('that code sets never replace those of an operator', async () => {
      await setLimits({ limit: { concurrency: 5 }, from: 'operator' })
      await setLimits({ limit: { concurrency: 9 }, from: 'code' })
      const [queue] = await bench.store.queues()
      expect(queue?.limits).toEqual({
        limit: { concurrency: 5 },
        from: 'operator',
        code: { limit: { concurrency: 9 } },
        since: bench.now(),
      })
    })

    it('that code sets return when those of an operator are removed', async () => {
      await setLimits({ limit: { concurrency: 9 }, from: 'code' })
      await setLimits({ limit: { concurrency: 5 }, from: 'operator' })
      await setLimits(null)
      const since = bench.now()
      expect((await bench.store.queues())[0]?.limits).toEqual({ limit: { concurrency: 9 }, from: 'code', since })
    })

    it('leave other queues alone, and share a claim with them', async () => {
      await limited({ concurrency: 1 })
      const plain = await bench.addMany(20)
      const own = [await add('a'), await add('b')]
      const ids = (await bench.claim({ queues: ['default', QUEUE], limit: 10 })).map(({ id }) => id)
      expect(ids.length).toBe(10)
      expect(own.every(id => ids.includes(id))).toBe(true)
      expect(ids.filter(id => plain.includes(id)).length).toBe(8)
    })

    it('start nothing while the queue is paused', async () => {
      await limited({ concurrency: 1 })
      const id = await add('a')
      await bench.store.setQueue(QUEUE, { paused: true })
      expect(await claimed()).toEqual([])
      await bench.store.setQueue(QUEUE, { paused: false })
      expect(await claimed()).toEqual([id])
    })

    it('return the same jobs for a repeated claim', async () => {
      await limited({ concurrency: 2 })
      for (let i = 0; i < 5; i++) await add('a')
      const request = bench.request({ queues: [QUEUE] })
      const first = await bench.store.claim(request)
      const again = await bench.store.claim(request)
      expect(again.jobs.map(({ id }) => id)).toEqual(first.jobs.map(({ id }) => id))
      expect(first.jobs.length).toBe(2)
    })

    it('start a job only when it is due, and by priority within its partition', async () => {
      await limited({ concurrency: 1 })
      await add('a', { priority: 1 })
      const [high, later] = [await add('a', { priority: 9 }), await add('b', { runAt: { delayMs: 5_000 } })]
      expect(await claimed()).toEqual([high])
      expect(await nextDueAt()).toBe(bench.now() + 5_000)
      bench.clock.advance(5_000)
      expect(await claimed()).toEqual([later])
    })

    it('claim only the names that are asked for', async () => {
      await limited({ concurrency: 2 })
      const [, mine] = [await add('a', { name: 'other' }), await add('a')]
      const names = { list: ['send-mail'], isExcluded: false }
      const jobs = await bench.claim({ queues: [QUEUE], names })
      expect(jobs.map(({ id }) => id)).toEqual([mine])
      expect((await claim()).length).toBe(1)
    })

    it('let a cancelled or removed job make room for nothing, and a rescheduled one start at its new time', async () => {
      await limited({ concurrency: 1 })
      const [one, two, three] = [await add('a'), await add('a'), await add('a')]
      await bench.cancel([one])
      await bench.store.remove([two])
      expect(await claimed()).toEqual([three])
      const later = await add('b', { runAt: { delayMs: 60_000 } })
      expect(await claimed()).toEqual([])
      await bench.reschedule(later, { delayMs: 0 })
      expect(await claimed()).toEqual([later])
    })

    it('follow a job into another queue', async () => {
      await limited({ concurrency: 1 })
      const [, two] = [await add('a'), await add('a')]
      await claim()
      const job = await bench.get(two)
      await bench.edit(two, { expect: job, queue: 'default' })
      expect((await bench.claim()).map(({ id }) => id)).toEqual([two])
    })

    it('give a redriven job its turn again', async () => {
      await limited({ concurrency: 1 })
      const id = await add('a')
      await end((await claim())[0]!, died())
      await bench.redrive([id])
      expect(await claimed()).toEqual([id])
    })
  })

  describe('rates', () => {
    it('let a burst start, and then one job after another', async () => {
      await limited({ rate: '1/s', burst: 2 })
      for (let i = 0; i < 5; i++) await add('a')
      expect((await claim()).length).toBe(2)
      expect(await nextDueAt()).toBe(bench.now() + 1_000)
      bench.clock.advance(999)
      expect((await claim()).length).toBe(0)
      bench.clock.advance(1)
      expect((await claim()).length).toBe(1)
      bench.clock.advance(60_000)
      expect((await claim()).length).toBe(2)
    })

    it('hold for the whole queue', async () => {
      await setLimits({ limit: { rate: '1/s', burst: 1 }, partitions: { fair: true }, from: 'code' })
      for (const name of ['a', 'b', 'c']) await add(name)
      expect((await claim()).length).toBe(1)
      expect(await nextDueAt()).toBe(bench.now() + 1_000)
      bench.clock.advance(1_000)
      expect((await claim()).length).toBe(1)
    })

    it('count units, which the end of a run corrects', async () => {
      await limited({ units: { tokens: '100/s' } })
      for (let i = 0; i < 3; i++) await add('a', { units: { tokens: 100 } })
      const [first, ...others] = await claim()
      expect(others).toEqual([])
      bench.clock.advance(1_000)
      await end(first!, succeeded(), { spent: { tokens: 200 } })
      expect((await claim()).length).toBe(0)
      expect(await nextDueAt()).toBe(bench.now() + 2_000)
      bench.clock.advance(2_000)
      expect((await claim()).length).toBe(1)
    })

    it('give back what a job that did not start had spent', async () => {
      await limited({ rate: '1/h', burst: 1 })
      const id = await add('a')
      await end((await claim())[0]!, handedBack(), { spent: { '': -1 } })
      expect(await claimed()).toEqual([id])
    })

    it('give back nothing that they have made up for since', async () => {
      await limited({ rate: '1/s', burst: 1 })
      for (let i = 0; i < 4; i++) await add('a')
      const [early] = await claim()
      bench.clock.advance(5_000)
      expect((await claim()).length).toBe(1)
      await end(early!, handedBack(), { spent: { '': -1 } })
      expect((await claim()).length).toBe(0)
      bench.clock.advance(1_000)
      expect((await claim()).length).toBe(1)
    })

    it('wait for the whole partition if a response says so, and are slower after it', async () => {
      await limited({ rate: '10/s', burst: 1, learn: true })
      for (let i = 0; i < 3; i++) await add('a')
      await end((await claim())[0]!, retry(3_600_000), { lesson: { kind: 'wait', ms: 30_000 } })
      bench.clock.advance(29_999)
      expect((await claim()).length).toBe(0)
      bench.clock.advance(1)
      expect((await claim()).length).toBe(1)
      expect(await nextDueAt()).toBe(bench.now() + 200)
    })
  })

  describe('order', () => {
    it('is that of creation, whatever fails, sleeps or is handed back', async () => {
      await limited({ order: 'fifo' })
      const ids = [await add('a', { priority: 1 }), await add('a', { priority: 9 }), await add('a')]
      const [first] = await claim()
      expect(first?.id).toBe(ids[0])
      await end(first!, retry(10_000))
      expect(await claimed()).toEqual([])
      expect(await nextDueAt()).toBe(bench.now() + 10_000)
      bench.clock.advance(10_000)
      const [again] = await claim()
      expect(again?.id).toBe(ids[0])
      await end(again!, snoozed(5_000))
      expect(await claimed()).toEqual([])
      bench.clock.advance(5_000)
      const [third] = await claim()
      await end(third!, handedBack(), { spent: { '': -1 } })
      const [fourth] = await claim()
      expect([third?.id, fourth?.id]).toEqual([ids[0], ids[0]])
      await end(fourth!, succeeded())
      const [next] = await claim()
      expect(next?.id).toBe(ids[1])
      await end(next!, died())
      expect(await claimed()).toEqual([ids[2]])
    })

    it('stops at a dead letter until it is redriven, if it should', async () => {
      await limited({ order: 'fifo', onDead: 'stop' })
      const [one, two] = [await add('a'), await add('a')]
      const other = await add('b')
      const jobs = await claim()
      expect(jobs.map(({ id }) => id).sort()).toEqual([one, other].sort())
      await end(jobs.find(({ id }) => id === one)!, died())
      expect(await claimed()).toEqual([])
      expect(await partitions()).toMatchObject([{ name: 'a', stoppedBy: one }, { name: 'b' }])
      const stopped = await bench.store.partitions!(QUEUE, { limit: 10, cap: 10, which: 'stopped' })
      expect(stopped.map(({ name }) => name)).toEqual(['a'])
      await bench.redrive([one])
      const [again] = await claim()
      expect(again?.id).toBe(one)
      await end(again!, succeeded())
      expect(await claimed()).toEqual([two])
    })

    it('is shown as stopped, also if nothing waits behind the dead letter', async () => {
      await limited({ order: 'fifo', onDead: 'stop' })
      const id = await add('a')
      await end((await claim())[0]!, died())
      const stopped = await bench.store.partitions!(QUEUE, { limit: 10, cap: 10, which: 'stopped' })
      expect(stopped).toMatchObject([{ name: 'a', running: 0, stoppedBy: id }])
      expect((await partitions()).map(({ name }) => name)).toEqual(['a'])
      await bench.discard([id])
      expect(await bench.store.partitions!(QUEUE, { limit: 10, cap: 10, which: 'stopped' })).toEqual([])
    })

    it('goes on when the dead letter that stopped it is discarded or removed', async () => {
      await limited({ order: 'fifo', onDead: 'stop' })
      for (const free of [(id: string) => bench.discard([id]), (id: string) => bench.store.remove([id])]) {
        const [one, two] = [await add('a'), await add('a')]
        await end((await claim())[0]!, died())
        expect(await claimed()).toEqual([])
        await free(one)
        const [next] = await claim()
        expect(next?.id).toBe(two)
        await end(next!, succeeded())
      }
    })

    it('skips a job whose deadline has passed, and goes on after its end', async () => {
      await limited({ order: 'fifo' })
      const [, two] = [await add('a', { deadline: { delayMs: 1_000 }, runAt: { delayMs: 500 } }), await add('a')]
      expect(await claimed()).toEqual([])
      bench.clock.advance(1_000)
      await bench.expireDeadlines(10)
      expect(await claimed()).toEqual([two])
    })
  })

  describe('fairness', () => {
    it('gives every partition its share of a claim, whatever the backlog of one', async () => {
      await limited({ fair: true })
      await bench.addMany(100, { queue: QUEUE, partition: 'big' })
      for (const name of ['b', 'c', 'd']) await add(name)
      const lanes = (await claim(8)).map(({ lane }) => lane)
      expect(lanes.filter(lane => lane !== 'big').sort()).toEqual(['b', 'c', 'd'])
    })

    it('starves no partition, whatever the size of the claims', async () => {
      await limited({ fair: true })
      for (const name of ['a', 'b', 'c']) await bench.addMany(20, { queue: QUEUE, partition: name })
      const lanes: (string | undefined)[] = []
      for (let i = 0; i < 6; i++) {
        lanes.push(...(await claim(4)).map(({ lane }) => lane))
        bench.clock.advance(1)
      }
      for (const name of ['a', 'b', 'c']) expect(lanes.filter(lane => lane === name).length).toBeGreaterThan(3)
    })

    it('lets partitions take turns', async () => {
      await limited({ fair: true })
      for (const name of ['a', 'b', 'c']) await bench.addMany(10, { queue: QUEUE, partition: name })
      const lanes: (string | undefined)[] = []
      for (let i = 0; i < 6; i++) {
        lanes.push(...(await claim(1)).map(({ lane }) => lane))
        bench.clock.advance(1)
      }
      expect([lanes.slice(0, 3).sort(), lanes.slice(3).sort()]).toEqual([
        ['a', 'b', 'c'],
        ['a', 'b', 'c'],
      ])
    })
  })

  describe('what limits show', () => {
    it('is the use of every partition', async () => {
      await limited({ concurrency: 2 })
      for (const name of ['a', 'a', 'a', 'b']) await add(name)
      await claim()
      expect(await partitions()).toMatchObject([
        { name: 'a', running: 2, waiting: { value: 1, relation: 'exact' } },
        { name: 'b', running: 1, waiting: { value: 0, relation: 'exact' } },
      ])
      const [b] = await bench.store.partitions!(QUEUE, { names: ['b', 'unknown'], cap: 10 })
      expect(b?.name).toBe('b')
      const page = await bench.store.partitions!(QUEUE, { limit: 1, after: 'a', cap: 10 })
      expect(page.map(({ name }) => name)).toEqual(['b'])
    })

    it('is that a due job is blocked while its partition or its queue is full', async () => {
      await limited({ concurrency: 1 }, { concurrency: 2 })
      for (const name of ['a', 'a', 'b', 'c']) await add(name)
      expect([await phases('queued'), await phases('blocked')]).toEqual([4, 0])
      const [job] = await claim()
      expect([await phases('queued'), await phases('blocked')]).toEqual([0, 2])
      const [census] = await bench.store.census({ queues: [QUEUE], cap: 100 })
      expect([census?.queued.value, census?.blocked.value, census?.running.value]).toEqual([0, 2, 2])
      await end(job!, succeeded())
      await claim()
      expect([await phases('blocked')]).toEqual([1])
    })

    it('is nothing for a partition without jobs once its rate allows a burst again', async () => {
      await limited({ rate: '1/s', burst: 2 })
      await add('a')
      await end((await claim())[0]!, succeeded())
      await claim()
      expect((await partitions()).map(({ name }) => name)).toEqual(['a'])
      bench.clock.advance(60_000)
      await bench.store.prune({ olderThanMs: {}, keyMs: 1_000, limit: 100 })
      expect(await partitions()).toEqual([])
    })

    it('is nothing for a queue without limits', async () => {
      await add('a')
      expect(await partitions()).toEqual([])
    })
  })
}
