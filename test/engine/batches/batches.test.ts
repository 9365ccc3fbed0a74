import { describe, expect, it, onTestFinished } from 'vitest'
import { batchSize } from '../../../src/core/job/batch.js'
import { storeProxy } from '../../../src/engine/time/store-proxy.js'
import { defineJob, fixed, type JobContext, type JobDefinition, type WorkOptions } from '../../../src/index.js'
import type { Claim } from '../../../src/store/store.js'
import { type TestChronos, testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

type Store = (typeof STORES)[number][1]

const retry = fixed({ delay: '1m', maxRetries: 3, jitter: 'none' })

function chronosWith(store: Store, job: JobDefinition<never>, work: WorkOptions = { concurrency: 100 }): TestChronos {
  const t = testChronos({ jobs: [job], store, work })
  onTestFinished(() => t.close())
  return t
}

/** A job whose handler remembers its calls. */
function collector(answer: (payloads: readonly number[], jobs: readonly JobContext[]) => unknown = () => undefined) {
  const calls: (readonly number[])[] = []
  const job = defineJob({
    name: 'index',
    retry,
    batch: { size: 10, wait: '50ms' },
    run(payloads: readonly number[], jobs) {
      calls.push(payloads)
      return answer(payloads, jobs) as readonly string[] | undefined
    },
  })
  return { job, calls }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

describe.each(STORES)('a batch handler on %s', (_, store) => {
  it('gets a full batch at once, and the rest after the wait', async () => {
    const { job, calls } = collector()
    const t = chronosWith(store, job)
    await t.enqueueMany(job, upTo(25))
    await t.clock.settle()
    expect(calls.map(call => call.length)).toEqual([10, 10])
    await t.advance(49)
    expect(calls).toHaveLength(2)
    await t.advance(1)
    expect(calls.map(call => call.length)).toEqual([10, 10, 5])
    expect(calls.flat().sort((a, b) => a - b)).toEqual(upTo(25))
    expect(await t.jobs.count({ state: 'succeeded' })).toMatchObject({ value: 25 })
  })

  it('gives each job its own result, error or snooze', async () => {
    const { job } = collector((payloads, jobs) =>
      payloads.map((n, place) => {
        if (n === 3) return new Error('no such document')
        return n === 4 ? jobs[place]!.snooze('1h', 'later') : `indexed ${n}`
      }),
    )
    const t = chronosWith(store, job)
    const many = await t.enqueueMany(job, upTo(10))
    await t.clock.settle()
    const seen = await Promise.all(many.map(({ id }) => t.jobs.get(job, id)))
    expect(seen.filter(one => one?.state === 'succeeded').map(one => one?.result)).toEqual(
      [0, 1, 2, 5, 6, 7, 8, 9].map(n => `indexed ${n}`),
    )
    const history = async (n: number) => (await t.jobs.history(many[n]!.id)).data
    expect(await history(3)).toMatchObject([
      { status: 'failed', error: { message: 'no such document' }, note: 'item 4 of 10' },
    ])
    expect(await history(4)).toMatchObject([{ status: 'snoozed', note: 'later' }])
  })

  it('that throws fails all its jobs, each by its own policy, with its place', async () => {
    const { job } = collector(() => {
      throw new Error('the index is down')
    })
    const t = chronosWith(store, job)
    const [first, second] = await t.enqueueMany(job, upTo(9))
    const { id: last } = await t.enqueue(job, 9, { maxRetries: 0 })
    await t.clock.settle()
    expect((await t.jobs.history(second!.id)).data).toMatchObject([
      { status: 'failed', error: { message: 'the index is down' }, note: 'item 2 of 10' },
    ])
    expect(await t.jobs.get(first!.id)).toMatchObject({ state: 'waiting', attempt: 1 })
    expect(await t.jobs.get(last)).toMatchObject({ state: 'dead', reason: 'exhausted' })
  })

  it('finds the job that makes its batches fail: the others succeed, and only it dies', async () => {
    const { job, calls } = collector(payloads => {
      if (payloads.includes(6)) throw new Error('can not read document 6')
    })
    const t = chronosWith(store, job)
    const many = await t.enqueueMany(job, upTo(10))
    await t.advance('10m')
    const states = await Promise.all(many.map(async ({ id }) => (await t.jobs.get(id))?.state))
    expect(states).toEqual(upTo(10).map(n => (n === 6 ? 'dead' : 'succeeded')))
    // Halves of what failed, and the last attempt alone.
    expect(calls.map(call => call.length)).toEqual([10, 5, 5, 3, 2, 1, 1, 1])
    expect((await t.jobs.history(many[6]!.id, { order: 'oldest' })).data.map(({ note }) => note)).toEqual([
      'item 7 of 10',
      expect.stringMatching(/^item \d of 5$/),
      expect.stringMatching(/^item \d of [23]$/),
      undefined,
    ])
  })

  it('that returns too few results fails all its jobs for good, as a mistake in the code does', async () => {
    const { job } = collector(() => ['one'])
    const t = chronosWith(store, job)
    const { id } = await t.enqueue(job, 1)
    const { id: other } = await t.enqueue(job, 2)
    await t.advance('1s')
    for (const each of [id, other]) {
      expect(await t.jobs.get(each)).toMatchObject({ state: 'dead', reason: 'permanent' })
    }
    const [run] = (await t.jobs.history(id)).data
    expect(run?.error?.message).toBe(
      'the batch handler returned 1 results for 2 jobs; return an array with a result or an Error for each, or nothing',
    )
  })

  it('starts at-most-once jobs once, and forgets none of them when it throws', async () => {
    let starts = 0
    const job = defineJob({
      name: 'charge',
      delivery: 'at-most-once',
      batch: { size: 5, wait: '10ms' },
      run(payloads: readonly number[]) {
        starts += payloads.length
        throw new Error('the bank is down')
      },
    })
    const t = chronosWith(store, job)
    await t.enqueueMany(job, upTo(7))
    await t.advance('1h')
    expect(starts).toBe(7)
    expect(await t.jobs.count({ state: 'dead' })).toMatchObject({ value: 7 })
  })

  it('runs effects of job.once for each job by itself', async () => {
    const effects: string[] = []
    let calls = 0
    const { job } = collector(async (payloads, jobs) => {
      await Promise.all(jobs.map((one, place) => one.once('send', () => void effects.push(`${payloads[place]}`))))
      if (++calls === 1) throw new Error('after the effects')
    })
    const t = chronosWith(store, job)
    await t.enqueueMany(job, upTo(10))
    await t.advance('2m')
    expect(effects.sort()).toEqual(upTo(10).map(String))
    expect(await t.jobs.count({ state: 'succeeded' })).toMatchObject({ value: 10 })
  })

  it('does not count a job without retries as begun while it waits for others', async () => {
    const begun: boolean[] = []
    const watched: Store = clock =>
      storeProxy(store(clock), (name, verb) => {
        if (name !== 'claim') return verb
        return async (...args) => {
          const claim = (await verb(...args)) as Claim
          begun.push(...claim.jobs.map(job => job.begun))
          return claim
        }
      })
    const once = fixed({ delay: '1s', maxRetries: 0, jitter: 'none' })
    const job = defineJob({ name: 'only', retry: once, batch: { size: 10 }, run(_: readonly number[]) {} })
    const t = chronosWith(watched, job, { concurrency: 3 })
    await t.enqueueMany(job, upTo(200))
    await t.drain()
    expect(begun).toEqual(Array(200).fill(false))
  })

  it('goes on without a job that is cancelled before the batch is full, and without the wait for it', async () => {
    const { job, calls } = collector()
    const t = chronosWith(store, job)
    const { id } = await t.enqueue(job, 1)
    await t.enqueue(job, 2)
    await t.advance(10)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'running' })
    await t.jobs.cancel(id)
    await t.clock.settle()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'cancelled' })
    await t.advance(40)
    expect(calls).toEqual([[2]])
  })

  it('lets virtual time pass while it waits on the clock of one of its jobs', async () => {
    const { job } = collector((_payloads, jobs) => jobs[1]!.clock.wait('10s'))
    const t = chronosWith(store, job)
    await t.enqueueMany(job, upTo(3))
    await t.advance('11s')
    expect(await t.jobs.count({ state: 'succeeded' })).toMatchObject({ value: 3 })
  })

  it('that takes too long times out for all its jobs', async () => {
    const job = defineJob({
      name: 'slow',
      delivery: 'at-most-once',
      timeout: '1s',
      batch: { size: 2 },
      run: (_: readonly number[], jobs: readonly JobContext[]) => t.clock.wait('1h', jobs[0]!.signal),
    })
    const t = chronosWith(store, job)
    const many = await t.enqueueMany(job, [1, 2])
    await t.advance('2s')
    for (const { id } of many) {
      expect((await t.jobs.history(id)).data[0]).toMatchObject({ status: 'timed-out' })
      expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })
    }
  })

  it('finishes its batch when the worker stops', async () => {
    const { job, calls } = collector()
    const t = chronosWith(store, job)
    await t.enqueueMany(job, upTo(3))
    await t.advance(10)
    const stopping = t.worker.stop()
    await t.clock.passUntil(stopping)
    expect(calls).toEqual([[0, 1, 2]])
    expect(await t.jobs.count({ state: 'succeeded' })).toMatchObject({ value: 3 })
  })
})

describe('batches', () => {
  const open = STORES[0]![1]

  it('are of one tenant, or one value of a function, if the definition says so', async () => {
    const calls: string[][] = []
    const run = (payloads: readonly { account: string }[]): void => void calls.push(payloads.map(p => p.account))
    const byTenant = defineJob({ name: 'by-tenant', batch: { size: 10, by: 'tenant' }, run })
    const byAccount = defineJob({ name: 'by-account', batch: { size: 10, by: p => p.account }, run })
    for (const job of [byTenant, byAccount]) {
      calls.length = 0
      const t = chronosWith(open, job)
      for (const account of ['a', 'b', 'a', 'b', 'a']) await t.enqueue(job, { account }, { tenantId: account })
      await t.advance('1s')
      expect(calls.sort((a, b) => b.length - a.length)).toEqual([
        ['a', 'a', 'a'],
        ['b', 'b'],
      ])
    }
  })

  it('fail a job for which that function throws, and no other', async () => {
    const job = defineJob({
      name: 'by',
      retry,
      batch: { size: 10, by: (p: { account?: { id: string } }) => p.account!.id },
      run(_: readonly { account?: { id: string } }[]) {},
    })
    const t = chronosWith(open, job)
    const { id } = await t.enqueue(job, {})
    const { id: good } = await t.enqueue(job, { account: { id: 'a' } })
    await t.advance('1s')
    expect((await t.jobs.history(id)).data).toMatchObject([{ status: 'failed', error: { name: 'TypeError' } }])
    expect(await t.jobs.get(good)).toMatchObject({ state: 'succeeded' })
  })

  it('are no larger than the concurrency of the worker, so that none waits for jobs that can not come', async () => {
    const { job, calls } = collector()
    const t = chronosWith(open, job, { concurrency: 4 })
    await t.enqueueMany(job, upTo(8))
    await t.clock.settle()
    expect(calls.map(call => call.length)).toEqual([4, 4])
  })

  it('halve with every attempt, and a last attempt or a suspect is alone', () => {
    const of = (attempt: number, isLastAttempt = false, suspect = false) =>
      batchSize({ attempt, isLastAttempt, suspect }, 100)
    expect([1, 2, 3, 4, 5, 6, 7, 8, 20].map(attempt => of(attempt))).toEqual([100, 50, 25, 13, 7, 4, 2, 1, 1])
    expect(of(2, true)).toBe(1)
    // The only attempt of a job without retries.
    expect(of(1, true)).toBe(100)
    expect(of(1, false, true)).toBe(1)
  })

  it('refuse wrong settings', () => {
    const run = (): void => {}
    const define = (batch: object) => () => defineJob({ name: 'x', batch: batch as { size: number }, run })
    expect(define({})).toThrow('job "x": batch.size: expected a whole number from 1 to 1000, got undefined')
    expect(define({ size: 0 })).toThrow(/job "x": batch\.size/)
    expect(define({ size: 5, wait: '11s' })).toThrow(/job "x": batch\.wait/)
    expect(define({ size: 5, by: 'queue' })).toThrow(/job "x": batch\.by/)
    expect(() => defineJob({ name: 'x', batch: { size: 2 }, thread: new URL('file:///x.js') } as never)).toThrow(
      /batch.*thread/,
    )
  })

  it('have the result types of their jobs', async () => {
    const job = defineJob({
      name: 'typed',
      batch: { size: 2 },
      run: (payloads: readonly { n: number }[]) => payloads.map(({ n }) => (n > 0 ? n * 2 : new Error('negative'))),
    })
    const t = chronosWith(open, job)
    const { id } = await t.enqueue(job, { n: 4 })
    await t.advance('1s')
    const seen = await t.jobs.get(job, id)
    const result: number | undefined = seen?.result
    expect(result).toBe(8)
  })
})
