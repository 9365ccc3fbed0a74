import { describe, expect, it } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { type TestOptions, testChronos } from '../../../src/testing.js'
import { LIMITED_STORES, most, runsOf, starts } from './limited.js'

describe.each(LIMITED_STORES)('limits on %s', (_, open) => {
  const start = (options: TestOptions) => testChronos({ store: open, ...options })
  const call = defineJob({
    name: 'call',
    queue: 'crm',
    partition: (payload: { account: string }) => payload.account,
    run: (_, job) => job.clock.wait('10s'),
  })
  const accounts = (...names: string[]) => names.map(account => ({ account }))

  it('hold for all jobs of a partition, and others run beside it', async () => {
    const t = start({ jobs: [call], queues: { crm: { partitions: { concurrency: 2 } } } })
    const since = t.clock.now()
    await t.enqueueMany(call, accounts('a', 'a', 'a', 'a', 'a', 'b'))
    await t.drain()
    const runs = await runsOf(t, since)
    expect(most(runs, 'a')).toBe(2)
    expect(starts(runs, 'a')).toEqual([0, 0, 10, 10, 20])
    expect(starts(runs, 'b')).toEqual([0])
    await t.close()
  })

  it('hold for the whole queue beside those of its partitions', async () => {
    const t = start({
      jobs: [call],
      queues: {
        crm: { limit: { concurrency: 3 }, partitions: { concurrency: 2, override: { b: { concurrency: 1 } } } },
      },
    })
    const since = t.clock.now()
    await t.enqueueMany(call, accounts('a', 'a', 'a', 'b', 'b'))
    await t.drain()
    const runs = await runsOf(t, since)
    expect([most(runs), most(runs, 'a'), most(runs, 'b')]).toEqual([3, 2, 1])
    await t.close()
  })

  it('space the starts by a rate, with a burst', async () => {
    const ask = defineJob({ name: 'ask', queue: 'ai', run: () => undefined })
    const t = start({ jobs: [ask], queues: { ai: { limit: { rate: '1/s', burst: 2 } } } })
    const since = t.clock.now()
    await t.enqueueMany(ask, [undefined, undefined, undefined, undefined])
    await t.drain()
    expect(starts(await runsOf(t, since))).toEqual([0, 0, 1, 2])
    await t.close()
  })

  it('follow what a run has really spent, by unit', async () => {
    const spends = [100, 20, 60]
    const ask = defineJob({
      name: 'ask',
      queue: 'ai',
      partition: 'gpt',
      units: { tokens: 60 },
      run(_, job) {
        job.spent({ tokens: 10 })
        job.spent({ tokens: spends.shift()! - 10 })
        return [job.partition, job.units]
      },
    })
    const t = start({ jobs: [ask], queues: { ai: { partitions: { units: { tokens: '1/s' } } } } })
    const since = t.clock.now()
    const jobs = []
    for (let count = 0; count < 3; count++) jobs.push((await t.enqueue(ask)).id)
    await t.drain()
    // The first has spent 100 tokens, 99 of them more than the burst; the second gives 40 of its 60 back.
    expect(starts(await runsOf(t, since))).toEqual([0, 100, 120])
    expect((await t.jobs.get(jobs[0]!))?.result).toEqual(['gpt', { tokens: 60 }])
    await t.close()
  })

  it('cost a run nothing that its circuit did not let start', async () => {
    const send = defineJob({
      name: 'send',
      queue: 'mail',
      dependsOn: 'smtp',
      retry: { circuit: true },
      run: () => undefined,
    })
    const t = start({ jobs: [send], queues: { mail: { partitions: { rate: '1/h', burst: 1 } } } })
    await t.enqueue(send, undefined, { partition: 'first' })
    await t.advance('1m')
    await t.chronos.circuits.open('smtp')
    const { id } = await t.enqueue(send, undefined, { partition: 'second' })
    await t.advance('1s')
    await t.chronos.circuits.close('smtp')
    await t.drain({ within: '30m' })
    const { data } = await t.jobs.history(id)
    expect(data.map(({ status }) => status)).toEqual(['succeeded', 'deferred'])
    await t.close()
  })

  it('apply to the tenant if a job names no partition, and the enqueue decides before the definition', async () => {
    const t = start({ jobs: [call], queues: { crm: { partitions: { fair: true } } } })
    const plain = defineJob({ name: 'plain', queue: 'crm', run: (_, job) => job.partition })
    await t.queues.pause('crm')
    const one = await t.enqueue(call, { account: 'a' }, { partition: 'b' })
    const two = await t.enqueue(plain, undefined, { tenantId: 'acme', units: { tokens: 7 } })
    await t.queues.resume('crm')
    expect(await t.jobs.get(one.id)).toMatchObject({ partition: 'b' })
    expect(await t.jobs.get(two.id)).toMatchObject({ partition: 'acme', units: { tokens: 7 } })
    await t.close()
  })

  it('wake a worker when a slot becomes free', async () => {
    const t = start({ jobs: [call], queues: { crm: { partitions: { concurrency: 1 } } }, work: { poll: '1h' } })
    const since = t.clock.now()
    await t.enqueueMany(call, accounts('a', 'a', 'a'))
    await t.drain({ within: '1m' })
    expect(starts(await runsOf(t, since), 'a')).toEqual([0, 10, 20])
    await t.close()
  })
})

describe('limits with wrong values', () => {
  const at = (queues: TestOptions['queues']) => () => testChronos({ jobs: [], ...(queues && { queues }) })

  it('are refused where they are declared', () => {
    expect(at({ crm: { partitions: { order: 'fifo', concurrency: 2 } } })).toThrow(
      'createChronos: queues.crm.partitions: order "fifo" runs one job at a time',
    )
    expect(at({ crm: { limit: { concurrency: 0 } } })).toThrow('createChronos: queues.crm.limit.concurrency')
    expect(at({ crm: { partitions: { units: { '': '1/s' } } } })).toThrow('a unit is a word such as "tokens", got ""')
  })

  it('are refused at the enqueue', async () => {
    const odd = defineJob({ name: 'odd', partition: () => 7 as never, run: () => undefined })
    const t = testChronos({ jobs: [odd] })
    await expect(t.enqueue(odd)).rejects.toThrow('job "odd": partition: expected a text of 1 to 200 characters, got 7')
    await expect(t.enqueue('odd', null, { units: { tokens: -1 } })).rejects.toThrow('enqueue "odd": units.tokens')
    await t.close()
  })

  it('fail a run that reports them as spent', async () => {
    const odd = defineJob({ name: 'odd', retry: { maxRetries: 0 }, run: (_, job) => job.spent({ tokens: -1 }) })
    const t = testChronos({ jobs: [odd] })
    const { id } = await t.enqueue(odd)
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({
      state: 'dead',
      lastError: expect.stringContaining('job.spent: tokens'),
    })
    await t.close()
  })
})
