import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob, type JobContext } from '../../../src/engine/client/definition.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { type TestChronos, testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const noop = defineJob({ name: 'noop', run: async (_payload: unknown) => undefined })

/** Time passes although these handlers run: the test itself decides when they end. */
const HELD = { despite: 'handlers' } as const

/** Runs until the test lets it go. */
function latch(name = 'held') {
  const started: JobContext[] = []
  const open: (() => void)[] = []
  const job = defineJob({
    name,
    retry: fixed({ delay: '1s', maxRetries: 3, jitter: 'none' }),
    run: (_payload: unknown, context) => {
      started.push(context)
      return new Promise<string>((resolve, reject) => {
        open.push(() => resolve('done'))
        context.signal.addEventListener('abort', () => reject(context.signal.reason))
      })
    },
  })
  return { job, started, letGo: () => open.splice(0).forEach(one => void one()) }
}

async function phases(t: TestChronos): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { phase } of (await t.jobs.list({}, { limit: 200 })).data) counts[phase] = (counts[phase] ?? 0) + 1
  return counts
}

describe.each(STORES)('a worker on %s', (_, store) => {
  test('is listed with the jobs that it runs, in its own process at once and in others after a second', async () => {
    const slow = defineJob({ name: 'slow', run: (_: unknown) => t.clock.wait('10s') })
    const t: TestChronos = testChronos({ jobs: [slow], store })
    await t.advance('20s')
    const running = async (chronos = t.chronos) => (await chronos.workers()).map(worker => worker.running)
    const opened = await t.chronos.store()
    const elsewhere = new Chronos(async () => opened, t.clock, seededDice(2), { log: false })
    await t.enqueue(slow, {})
    await t.advance(0)
    expect([await running(), await running(elsewhere)]).toEqual([[1], [0]])
    await t.advance('1s')
    expect(await running(elsewhere)).toEqual([1])
    await t.advance('9s')
    expect(await running()).toEqual([0])
    await t.advance('1s')
    expect(await running(elsewhere)).toEqual([0])
    await t.close()
  })

  test('runs no more handlers at a time than its concurrency, and hoards no slow jobs', async () => {
    const { job, started, letGo } = latch()
    await using t = testChronos({ jobs: [job], store, work: { concurrency: 3 } })
    await t.enqueueMany(
      job,
      Array.from({ length: 10 }, () => ({})),
    )
    await t.advance('5s', HELD)
    expect(started).toHaveLength(3)
    expect(await phases(t)).toEqual({ running: 3, queued: 7 })
    letGo()
    await t.advance('1s', HELD)
    expect(started).toHaveLength(6)
    letGo()
    await t.advance('1s', HELD)
    letGo()
    await t.advance('1s', HELD)
    letGo()
    await t.drain(HELD)
    expect(await phases(t)).toEqual({ succeeded: 10 })
  })

  test('releases held jobs that do not start within a second, without a trace', async () => {
    const { job, letGo } = latch()
    const quick = defineJob({ name: 'quick', run: async (_payload: unknown) => undefined })
    await using t = testChronos({ jobs: [job, quick], store, work: { concurrency: 2 } })
    // Many quick jobs make it claim ahead; slow ones behind them must not stay claimed.
    await t.queues.pause('default')
    await t.enqueueMany(
      quick,
      Array.from({ length: 50 }, () => ({})),
      { priority: 9 },
    )
    await t.enqueueMany(
      job,
      Array.from({ length: 50 }, () => ({})),
    )
    await t.queues.resume('default')
    await t.advance('2s', HELD)
    expect(t.worker.getStats()).toMatchObject({ running: 2, buffered: 0 })
    expect(await phases(t)).toEqual({ succeeded: 50, running: 2, queued: 48 })
    const waiting = (await t.jobs.list({ phase: 'queued' }, { limit: 100 })).data
    expect(waiting.every(one => one.attempt === 0)).toBe(true)
    for (const { id } of waiting) expect((await t.jobs.history(id)).data).toEqual([])
    for (let i = 0; i < 50; i++) {
      letGo()
      await t.advance('1s', HELD)
    }
  })

  test('R16: counts what it did since its start', async () => {
    let runs = 0
    const flaky = defineJob({
      name: 'flaky',
      retry: fixed({ delay: '1s', maxRetries: 2, jitter: 'none' }),
      async run() {
        if (++runs < 3) throw new Error('not yet')
      },
    })
    const bad = defineJob({
      name: 'bad',
      retry: fixed({ delay: '1s', maxRetries: 1, jitter: 'none' }),
      async run() {
        throw new Error('never')
      },
    })
    await using t = testChronos({ jobs: [flaky, bad, noop], store })
    expect(t.worker.getStats()).toMatchObject({ totalRetries: 0, retrySuccessRate: 0 })
    await t.enqueue(flaky)
    await t.enqueue(bad)
    await t.enqueue(noop)
    await t.drain()
    expect(t.worker.getStats()).toMatchObject({
      started: 6,
      succeeded: 2,
      failed: 4,
      dead: 1,
      retried: 3,
      totalRetries: 3,
      successfulRetries: 1,
      retrySuccessRate: 100 / 3,
      running: 0,
    })
  })

  test('lets running jobs finish when it is stopped, and takes no new ones', async () => {
    const { job, started, letGo } = latch()
    const t = testChronos({ jobs: [job], store, work: { concurrency: 2, grace: '1m' } })
    const { id } = await t.enqueue(job)
    await t.advance('1s', HELD)
    const stopping = t.worker.stop()
    const next = await t.enqueue(job)
    await t.advance('10s', HELD)
    expect(started).toHaveLength(1)
    letGo()
    await t.advance('1s', HELD)
    await stopping
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded' })
    expect(await t.jobs.get(next.id)).toMatchObject({ state: 'waiting', attempt: 0 })
    await t.close()
  })

  test('stops taking jobs of a paused queue, and continues when it is resumed', async () => {
    await using t = testChronos({ jobs: [noop], store })
    await t.queues.pause('default')
    const { id } = await t.enqueue(noop)
    await t.advance('1h')
    expect((await t.jobs.get(id))?.state).toBe('waiting')
    await t.queues.resume('default')
    await t.advance('1s')
    expect((await t.jobs.get(id))?.state).toBe('succeeded')
  })

  test('renews the lease of a long job for as long as it runs', async () => {
    const { job, started, letGo } = latch()
    await using t = testChronos({ jobs: [job], store, work: { lease: '10s' } })
    const { id } = await t.enqueue(job)
    await t.advance('10m', HELD)
    expect(started).toHaveLength(1)
    letGo()
    await t.drain(HELD)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 1 })
  })

  test.each<[Parameters<TestChronos['chronos']['work']>, RegExp]>([
    [[undefined as never], /expected an array of job definitions/],
    [
      [[noop, { name: 'plain', run() {} } as never]],
      /jobs\[1\]: expected a job definition, got an object; make it with/,
    ],
    [[[noop, noop]], /two definitions are named "noop"/],
    [[[noop], { concurrency: 0 }], /concurrency: expected a whole number from 1 to 10000, got 0/],
    [[[noop], { lease: '1ms' }], /lease: expected a duration of at least 1s/],
    [[[noop], { queue: 'x' } as never], /unknown option "queue"; did you mean "queues"\?/],
  ])('refuses bad options by name', async (args, message) => {
    await using t = testChronos({ jobs: [noop], store })
    expect(() => t.chronos.work(...args)).toThrow(message)
  })

  test('prunes only what retention names, and never unfinished work', async () => {
    const bad = defineJob({
      name: 'bad',
      retry: 'none',
      async run() {
        throw new Error('no')
      },
    })
    await using t = testChronos({ jobs: [noop, bad], store, retention: { succeeded: '1h' } })
    const good = await t.enqueue(noop, {}, { key: 'k' })
    const dead = await t.enqueue(bad)
    const future = await t.enqueue(noop, {}, { delay: '300d' })
    await t.advance('2h')
    expect(await t.jobs.get(good.id)).toBeUndefined()
    expect((await t.jobs.get(dead.id))?.state).toBe('dead')
    expect((await t.jobs.get(future.id))?.state).toBe('waiting')
    expect(await t.enqueue(noop, {}, { key: 'k' })).toEqual({ id: good.id, status: 'existing' })
    await t.advance('25h')
    expect((await t.enqueue(noop, {}, { key: 'k' })).status).toBe('created')
  })
})
