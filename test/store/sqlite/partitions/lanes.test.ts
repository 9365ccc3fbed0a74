import { beforeEach, describe, expect, it } from 'vitest'
import type { PartitionLimits, QueueLimits } from '../../../../src/core/partition/limits.js'
import { systemClock, systemDice } from '../../../../src/engine/time/system.js'
import { health } from '../../../../src/store/sqlite/file/health.js'
import type { Claimed, NewJob, Store } from '../../../../src/store/store.js'
import { Bench, died, retry, succeeded, TestClock } from '../../conformance/bench.js'
import { Folder } from '../folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())
const QUEUE = 'crm'
let clock: TestClock
let store: Store

beforeEach(() => {
  clock = new TestClock()
  store = folder.store({ clock })
})

const setLimits = (limits: QueueLimits | null) => store.setQueue(QUEUE, { limits })
const limited = (partitions: PartitionLimits) => setLimits({ partitions, from: 'operator' })
const jobIn = (partition: string, given: Partial<NewJob> = {}) => bench.job({ queue: QUEUE, partition, ...given })
const claim = (limit = 100, to = store) => to.claim(bench.request({ queues: [QUEUE], limit }))
const claimed = async (limit?: number) => (await claim(limit)).jobs
const end = (job: Claimed, how = succeeded()) =>
  store.settle([bench.settlement(job, how, { ...(job.lane !== undefined && { lane: job.lane }) })])

async function rows(sql: string): Promise<unknown[]> {
  const database = await folder.database()
  const found = database.prepare(sql).all()
  database.close()
  return found
}

describe('lanes', () => {
  it('are found by claims after a job of an earlier version was enqueued', async () => {
    await limited({ concurrency: 1 })
    await store.enqueue([jobIn('a')])
    const database = await folder.database()
    database.exec('UPDATE jobs SET lane = NULL; DELETE FROM partitions')
    database.close()
    expect((await claimed()).map(({ lane }) => lane)).toEqual(['a'])
  })

  it('are given to a large backlog by several claims, and nothing starts before its order is known', async () => {
    const count = 4_500
    await store.enqueue(Array.from({ length: count }, (_, n) => jobIn('a', { priority: n % 10 })))
    await limited({ order: 'fifo' })
    const claims = [await claim(), await claim(), await claim()]
    expect(claims.map(({ jobs }) => jobs.length)).toEqual([0, 1, 0])
    expect(claims[0]!.nextDueAt).toBe(claims[0]!.now)
    const { data } = await store.list({ queue: QUEUE }, { limit: 1, order: 'oldest' })
    expect(claims[1]!.jobs[0]!.id).toBe(data[0]!.id)
  })

  it('count jobs that ran before there were limits, whose ends know no partition', async () => {
    await store.enqueue([jobIn('a')])
    const [before] = (await claim()).jobs
    expect(before?.lane).toBeUndefined()
    await limited({ concurrency: 1 })
    await store.enqueue([jobIn('a')])
    expect(await claimed()).toEqual([])
    await end(before!)
    expect((await claimed()).length).toBe(1)
  })

  it('start as many jobs of each partition as the limit allows, instead of some of many partitions', async () => {
    await limited({ concurrency: 10 })
    const names = Array.from({ length: 150 }, (_, n) => `p${n}`)
    for (let round = 0; round < 12; round++) await store.enqueue(names.map(name => jobIn(name)))
    const jobs = await claimed(1_000)
    const started = names.map(name => jobs.filter(({ lane }) => lane === name).length)
    expect(started).toEqual(names.map((_, n) => (n < 100 ? 10 : 0)))
    expect(new Set((await claimed(1_000)).map(({ lane }) => lane))).toEqual(new Set(names.slice(100)))
  })

  it('are left when the limits are removed, also by a job that comes back to its lane', async () => {
    await limited({ concurrency: 1 })
    await store.enqueue([jobIn('a'), jobIn('a'), jobIn('a')])
    const [running] = await claimed()
    await setLimits(null)
    const others = await claimed()
    expect(others.map(({ lane }) => lane)).toEqual([undefined, undefined])
    await end(running!, retry(0))
    const [again] = await claimed()
    expect([again?.id, again?.lane]).toEqual([running!.id, undefined])
    await claim()
    expect(await rows('SELECT laned FROM queues')).toMatchObject([{ laned: 0 }])
    expect(await rows('SELECT * FROM partitions')).toEqual([])
  })

  it('with a large backlog are left by several claims', async () => {
    await limited({ concurrency: 1 })
    await store.enqueue(Array.from({ length: 2_500 }, () => jobIn('a')))
    await setLimits(null)
    const first = await claim(5_000)
    expect([first.jobs.length, first.nextDueAt]).toEqual([2_000, first.now])
    expect((await claim(5_000)).jobs.length).toBe(500)
  })

  it('are removed with their queue, and their limits keep an empty queue', async () => {
    await limited({ rate: '1/h' })
    await store.enqueue([jobIn('a'), jobIn('b', { runAt: { delayMs: 1_000 } })])
    expect(await store.removeQueues([QUEUE], 'any')).toEqual([])
    for (const job of await claimed()) await end(job)
    clock.advance(1_000)
    for (const job of await claimed()) await end(job)
    expect(await store.removeQueues([QUEUE], 'unset')).toEqual([])
    expect(await store.removeQueues([QUEUE], 'any')).toEqual([QUEUE])
    expect(await rows('SELECT * FROM partitions')).toEqual([])
  })

  it('are forgotten by a prune once their rate has recovered', async () => {
    await limited({ rate: '60/h', burst: 1 })
    await store.enqueue([jobIn('a')])
    const [job] = await claimed()
    await end(job!)
    await claim()
    const prune = () => store.prune({ olderThanMs: {}, keyMs: 0, limit: 10 })
    clock.advance(59_999)
    await prune()
    expect(await rows('SELECT name FROM partitions')).toHaveLength(1)
    clock.advance(1)
    await prune()
    expect(await rows('SELECT name FROM partitions')).toEqual([])
  })

  it('go on when a prune removes the dead letter that stopped them', async () => {
    await limited({ order: 'fifo', onDead: 'stop' })
    await store.enqueue([jobIn('a'), jobIn('a')])
    const [job] = await claimed()
    await end(job!, died())
    expect(await claimed()).toEqual([])
    clock.advance(1)
    await store.prune({ olderThanMs: { dead: 0 }, keyMs: 0, limit: 10 })
    expect((await claimed()).length).toBe(1)
  })

  it('start a deferred job at its new time', async () => {
    await limited({ concurrency: 1 })
    await store.enqueue([jobIn('a', { dependency: 'g', runAt: { delayMs: 60_000 } })])
    expect(await claimed()).toEqual([])
    await store.defer({ dependency: 'g', from: { dueWithinMs: 60_000 }, delaysMs: [0], pass: 1 })
    await store.defer({ dependency: 'g', from: { pass: 1 }, delaysMs: [0], pass: 2 })
    expect((await claimed()).length).toBe(1)
  })

  it('take several rounds of a claim, and tell when to look again', async () => {
    await limited({ concurrency: 1 })
    await store.enqueue(Array.from({ length: 300 }, (_, n) => jobIn(`p${n % 150}`)))
    expect((await claimed(150)).length).toBe(150)
    const { jobs, nextDueAt } = await claim()
    expect([jobs, nextDueAt]).toEqual([[], undefined])
  })

  it('with other names do not let a claim come back at once', async () => {
    await limited({ concurrency: 2 })
    await store.enqueue([jobIn('a', { name: 'other' })])
    const request = bench.request({ queues: [QUEUE], names: { list: ['send-mail'], isExcluded: false } })
    const { now, nextDueAt } = await store.claim(request)
    expect(nextDueAt).toBe(now + 25)
  })

  it('share a claim with other queues with limits', async () => {
    await limited({ fair: true })
    await store.setQueue('mail', { limits: { partitions: { fair: true }, from: 'code' } })
    await store.enqueue(Array.from({ length: 40 }, (_, n) => jobIn('a', { queue: n % 2 ? QUEUE : 'mail' })))
    const { jobs } = await store.claim(bench.request({ queues: [QUEUE, 'mail'], limit: 10 }))
    expect(jobs.filter(({ queue }) => queue === 'mail')).toHaveLength(5)
  })
})

describe('reads', () => {
  it('find jobs in lanes wherever they find other waiting jobs', async () => {
    await limited({ concurrency: 1 })
    const job = (given: Partial<NewJob>) => jobIn('a', { tags: ['t'], ...given })
    await store.enqueue([job({}), job({ runAt: { delayMs: 5_000 } }), job({ runAt: { delayMs: 3_600_000 } })])
    await store.enqueue([bench.job(), bench.job({ queue: QUEUE, runAt: { delayMs: 2_000 } })])
    const lists = await Promise.all([
      store.list({ state: 'waiting' }, { limit: 10 }),
      store.list({ state: 'waiting', queue: QUEUE, tag: 't' }, { limit: 10 }),
      store.list({ phase: 'scheduled' }, { limit: 10 }),
    ])
    expect(lists.map(({ data }) => data.length)).toEqual([5, 3, 3])
    const counts = [
      await store.count({ state: 'waiting' }, 10),
      await store.count({ state: 'waiting', queue: QUEUE }, 10),
      await store.count({ phase: 'queued' }, 10),
      await store.count({ state: ['waiting', 'running'], text: 'send' }, 10),
    ]
    expect(counts.map(({ value }) => value)).toEqual([5, 4, 2, 5])
    expect((await store.backlog({ exceptTag: 'x', deadMax: 10 })).map(({ queue }) => queue)).toEqual([QUEUE, 'default'])
    const wave = await store.wave({ queue: QUEUE, windowMs: 60_000, buckets: 1, lookAt: 10 })
    expect([wave.scheduled, wave.beyond.value]).toEqual([[2], 1])
    const { groups } = await store.waiting({ queue: QUEUE, lookAt: 10, limit: 10 })
    expect(groups.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(4)
    const [census] = await store.census({ queues: [QUEUE], cap: 10 })
    expect([census?.queued.value, census?.scheduled.value]).toEqual([1, 3])
    const { queues, findings } = await store.audit()
    expect([queues.find(({ queue }) => queue === QUEUE)?.ledger.enqueued, findings]).toEqual([4, []])
  })

  it('page through many partitions by name', async () => {
    await limited({ concurrency: 1 })
    const names = Array.from({ length: 25 }, (_, n) => `p${String(n).padStart(2, '0')}`)
    await store.enqueue(names.flatMap(name => [jobIn(name), jobIn(name)]))
    await store.enqueue([bench.job({ queue: QUEUE })])
    await claim(7)
    const found: string[] = []
    for (let after: string | undefined; ; after = found.at(-1)) {
      const page = await store.partitions!(QUEUE, { limit: 10, cap: 10, ...(after !== undefined && { after }) })
      found.push(...page.map(({ name }) => name))
      if (page.length < 10) break
    }
    expect(found).toEqual(['', ...names])
  })

  it('count in the health of a file', async () => {
    const real = folder.store()
    await real.setQueue(QUEUE, { limits: { partitions: { concurrency: 1 }, from: 'code' } })
    const at = systemClock.now() - 60_000
    await real.enqueue([jobIn('a', { runAt: { at } })])
    const read = () => health(folder.file(), { clock: systemClock, dice: systemDice }, 'none')
    expect((await read()).oldestDueMs).toBeGreaterThanOrEqual(60_000)
    // As an earlier version left it.
    await real.close()
    const database = await folder.database()
    for (const index of ['jobs_waiting', 'jobs_lane', 'jobs_lane_waiting', 'jobs_lane_due'])
      database.exec(`DROP INDEX ${index}`)
    database.exec(`ALTER TABLE jobs DROP COLUMN lane;
      CREATE INDEX jobs_waiting ON jobs (queue, priority, run_at) WHERE state = 'waiting'`)
    database.close()
    expect((await read()).oldestDueMs).toBeGreaterThanOrEqual(60_000)
  })
})
