import { describe, expect, it } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { createChronos, RetryAfter } from '../../../src/index.js'
import { type TestOptions, testChronos } from '../../../src/testing.js'
import { startReceiver } from '../../support/receiver.js'
import { LIMITED_STORES, runsOf, starts } from './limited.js'

describe.each(LIMITED_STORES)('a turn on %s', (_, open) => {
  const start = (options: TestOptions) => testChronos({ store: open, ...options })

  /** A queue with 30 dead letters that succeed when they are redriven. */
  async function withDeadLetters() {
    let isBroken = true
    const call = defineJob({
      name: 'call',
      queue: 'crm',
      retry: { maxRetries: 0 },
      run() {
        if (isBroken) throw new Error('down')
      },
    })
    const t = start({ jobs: [call] })
    await t.enqueueMany(call, Array(30).fill(undefined))
    await t.drain()
    isBroken = false
    return t
  }

  it('that was refused with 429 halves the rate, and a Retry-After holds the partition', async () => {
    const thrown: unknown[] = [Object.assign(new Error('slow down'), { status: 429 }), new RetryAfter('30s')]
    const ask = defineJob({
      name: 'ask',
      queue: 'ai',
      partition: 'gpt',
      retry: { backoff: { type: 'fixed', delay: '1h' }, jitter: 'none' },
      run() {
        const error = thrown.shift()
        if (error) throw error
      },
    })
    const t = start({ jobs: [ask], queues: { ai: { partitions: { rate: '10/s', burst: 1, learn: true } } } })
    const learned = async () => (await t.queues.partitions('ai')).data[0]
    await t.enqueue(ask)
    await t.advance('1s')
    await t.enqueue(ask)
    await t.advance('1s')
    expect(await learned()).toMatchObject({ name: 'gpt', learnedRate: expect.stringMatching(/^5(\.\d+)?\/s$/) })
    const since = t.clock.now()
    const { id } = await t.enqueue(ask)
    await t.advance('2s')
    expect(await t.jobs.get(id)).toMatchObject({ phase: 'blocked', blockedBy: 'rate' })
    expect((await t.jobs.explain(id)).waiting?.words).toMatch(/lowered to \d+ % by responses/)
    await t.drain({ within: '1d' })
    expect(starts(await runsOf(t, since)).at(-3)).toBe(29)
    await t.close()
  })

  it('without learn takes no lesson', async () => {
    const ask = defineJob({
      name: 'ask',
      queue: 'ai',
      retry: { maxRetries: 0 },
      run() {
        throw Object.assign(new Error('slow down'), { status: 429 })
      },
    })
    const t = start({ jobs: [ask], queues: { ai: { partitions: { rate: '10/s', burst: 1 } } } })
    await t.enqueueMany(ask, [undefined, undefined])
    await t.advance('5s')
    expect((await t.queues.partitions('ai')).data).toEqual([])
    await t.close()
  })

  it('follows the limits for a pull worker, settles what it spent and gives back what it did not start', async () => {
    const t = start({ jobs: [], queues: { ai: { partitions: { concurrency: 1, units: { tokens: '1/s' } } } } })
    const { leases } = t.chronos
    for (let count = 0; count < 3; count++) await t.enqueue('ask', null, { queue: 'ai', units: { tokens: 10 } })
    const claim = () => leases.claim({ workerId: 'w', queues: ['ai'], limit: 5 })
    const [first, ...others] = (await claim()).data
    expect([first?.job.units, others]).toEqual([{ tokens: 10 }, []])
    await leases.extend(first!.job.id, { token: first!.token })
    expect((await claim()).data).toEqual([])
    await leases.release(first!.job.id, { token: first!.token, started: false })
    const [again] = (await claim()).data
    expect(again?.job.id).toBe(first!.job.id)
    await leases.complete(again!.job.id, { token: again!.token, spent: { tokens: 30 } })
    await t.advance('28s')
    expect((await claim()).data).toEqual([])
    await t.advance('2s')
    const [next] = (await claim()).data
    await leases.fail(next!.job.id, { token: next!.token, error: { message: 'no' }, spent: { tokens: 1 } })
    await t.advance('2s')
    expect((await claim()).data).toHaveLength(1)
    await t.close()
  })

  it('comes when an operator discards the dead letter that stopped its partition', async () => {
    const feed = defineJob({
      name: 'feed',
      queue: 'feed',
      partition: 'acme',
      retry: { maxRetries: 0 },
      run(payload: string) {
        if (payload === 'bad') throw new Error('no')
      },
    })
    const t = start({ jobs: [feed], queues: { feed: { partitions: { order: 'fifo', onDead: 'stop' } } } })
    const [bad, good] = await t.enqueueMany(feed, ['bad', 'good'])
    await t.advance('10s')
    expect((await t.jobs.get(good!.id))?.blockedBy).toBe('stopped')
    await t.chronos.dead.discard({ ids: [bad!.id] })
    await t.advance('2s')
    expect((await t.jobs.get(good!.id))?.state).toBe('succeeded')
    await t.close()
  })

  it('is awaited by a redrive, which does not count it as a failure', async () => {
    const t = await withDeadLetters()
    await t.queues.set('crm', { limit: { rate: '1/s', burst: 1 } })
    const since = t.clock.now()
    const { id } = await t.chronos.dead.redrive({ queue: 'crm' }, { rate: '100/s', canary: 5, stopWhenFailing: 0.1 })
    await t.advance('15s')
    const midway = await t.chronos.redrives.get(id)
    expect(midway).toMatchObject({ state: 'running', started: 30, failing: 0 })
    expect(midway.results.pending).toBeGreaterThan(10)
    await t.advance('1m')
    expect(await t.chronos.redrives.get(id)).toMatchObject({ state: 'done', succeeded: 30, failing: 0 })
    const began = starts(await runsOf(t, since)).filter(at => at >= 0)
    expect(began.at(-1)).toBeGreaterThanOrEqual(29)
    await t.close()
  })

  it('does not hurry a redrive that is slower', async () => {
    const t = await withDeadLetters()
    await t.queues.set('crm', { limit: { rate: '100/s', burst: 100 } })
    const since = t.clock.now()
    const { id } = await t.chronos.dead.redrive({ queue: 'crm' }, { rate: '1/s', canary: 0 })
    await t.advance('15s')
    expect((await t.chronos.redrives.get(id)).succeeded).toBeLessThanOrEqual(16)
    await t.advance('1m')
    expect(await t.chronos.redrives.get(id)).toMatchObject({ state: 'done', succeeded: 30 })
    const began = starts(await runsOf(t, since)).filter(at => at >= 0)
    expect(began.at(-1)).toBeGreaterThanOrEqual(29)
    await t.close()
  })

  it('is the same for schedules and replays', async () => {
    const t = start({ jobs: [], queues: { crm: { partitions: { concurrency: 1 } } } })
    const made = await t.chronos.schedules.put('nightly', {
      every: '1h',
      job: 'sync',
      queue: 'crm',
      partition: 'acme',
      units: { rows: 3 },
    })
    expect(made).toMatchObject({ partition: 'acme', units: { rows: 3 } })
    const { id } = await t.chronos.schedules.run('nightly')
    expect(await t.jobs.get(id)).toMatchObject({ partition: 'acme', units: { rows: 3 } })
    const copy = await t.jobs.replay(id)
    expect(await t.jobs.get(copy.id)).toMatchObject({ partition: 'acme', units: { rows: 3 } })
    await t.close()
  })

  it('is shared only within a partition by batches', async () => {
    const batches: string[][] = []
    const send = defineJob({
      name: 'send',
      queue: 'mail',
      partition: (to: string) => to,
      batch: { size: 10, by: 'partition' },
      run(payloads) {
        batches.push([...payloads])
      },
    })
    const t = start({ jobs: [send], queues: { mail: { partitions: { fair: true } } } })
    await t.enqueueMany(send, ['a', 'b', 'a', 'b', 'a'])
    await t.drain()
    expect(batches.every(batch => new Set(batch).size === 1)).toBe(true)
    expect(batches.flat().sort()).toEqual(['a', 'a', 'a', 'b', 'b'])
    expect(Math.max(...batches.map(({ length }) => length))).toBeGreaterThan(1)
    await t.close()
  })
})

describe('an HTTP job in a partition', () => {
  it('learns from the headers of a successful response', async () => {
    const receiver = await startReceiver(async (_, response) => {
      response.writeHead(200, { 'RateLimit-Remaining': '6', 'RateLimit-Reset': '60' }).end()
    })
    const chronos = createChronos({
      store: 'memory:',
      log: false,
      egress: { allow: ['loopback'] },
      queues: { default: { partitions: { rate: '10/s', burst: 1, learn: true } } },
    })
    chronos.work([], { signals: false })
    const ended = new Promise<void>(resolve => chronos.on('job.succeeded', () => resolve()))
    await chronos.http({ url: receiver.origin }, { partition: 'api' })
    await chronos.http({ url: receiver.origin }, { partition: 'api' })
    await ended
    const rate = async () => (await chronos.queues.partitions('default')).data[0]?.learnedRate
    // The next claim applies what the response said.
    while ((await rate()) === undefined);
    // 6 requests in 60 s are far less than 10 per second; the smallest share that is learned is 1/64.
    expect(Number.parseFloat((await rate())!)).toBeLessThan(12)
    await chronos.close()
    await receiver.close()
  })

  it('that is refused with 429 and Retry-After shuts the partition for that time, for every worker', async () => {
    let requests = 0
    const receiver = await startReceiver(async (_, response) => {
      requests++
      response.writeHead(429, { 'Retry-After': '3600' }).end()
    })
    const chronos = createChronos({
      store: 'memory:',
      log: false,
      egress: { allow: ['loopback'] },
      queues: { default: { partitions: { rate: '10/s', burst: 1, learn: true } } },
    })
    chronos.work([], { signals: false })
    const failed = new Promise<void>(resolve => chronos.on('job.retrying', () => resolve()))
    await chronos.http({ url: receiver.origin }, { partition: 'api' })
    await failed
    const next = await chronos.http({ url: receiver.origin }, { partition: 'api' })
    // The next claim applies what the response said.
    while ((await chronos.jobs.get(next.id))?.blockedBy !== 'rate');
    const [partition] = (await chronos.queues.partitions('default')).data
    expect(Date.parse(partition!.openAt!)).toBeGreaterThan(Date.now() + 3_500_000)
    expect(requests).toBe(1)
    await chronos.close()
    await receiver.close()
  })
})
