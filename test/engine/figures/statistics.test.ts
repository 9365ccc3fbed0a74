import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const retry = fixed({ delay: '1m', maxRetries: 2, jitter: 'none' })
const good = defineJob({ name: 'good', run: async (_payload: unknown) => 'done' })
const mended = defineJob({
  name: 'fixed',
  retry,
  async run(_payload: unknown, job) {
    if (job.attempt === 1) throw new Error('not yet')
  },
})
const bad = defineJob({
  name: 'bad',
  queue: 'other',
  retry,
  async run(_payload: unknown) {
    throw new TypeError('never')
  },
})
const exact = (value: number) => ({ value, relation: 'exact' })
const jobs = [good, mended, bad]
const work = { queues: ['default', 'other'], concurrency: 7 }

describe.each(STORES)('in numbers on %s', (_, store) => {
  test('stats reports the whole fleet', async () => {
    await using t = testChronos({ jobs, store, work })
    await t.enqueueMany(good, [1, 2, 3])
    await t.enqueue(mended)
    await t.enqueue(bad)
    await t.enqueue(good, {}, { delay: '1d' })
    await t.advance('90s')
    expect(await t.chronos.stats()).toMatchObject({
      jobs: {
        scheduled: exact(1),
        queued: exact(0),
        retrying: exact(1),
        running: exact(0),
        succeeded: exact(4),
        dead: exact(0),
        cancelled: exact(0),
      },
      totalRetries: 2,
      successfulRetries: 1,
      retrySuccessRate: 50,
      retryRate: 2 / 5,
      failedRuns: 3,
      failedJobs: 0,
      deadLetters: exact(0),
      workers: { alive: 1, silent: 0, concurrency: 7 },
      last5m: { enqueued: 6, started: 7, retries: 2, succeeded: 4, failed: 3, dead: 0 },
    })
    await t.advance('1h')
    const later = await t.chronos.stats()
    expect(later).toMatchObject({ failedJobs: 1, deadLetters: exact(1), totalRetries: 3 })
    expect(later).not.toHaveProperty('retryRate')
    expect(later.last5m).toMatchObject({ enqueued: 0, started: 0 })
  })

  test('stats counts the jobs of more queues than it looks at one by one', async () => {
    await using t = testChronos({ jobs, store, work })
    await t.enqueueMany(
      'elsewhere',
      Array.from({ length: 2_400 }, (_, n) => n),
      n => ({ queue: `q-${n % 1_200}`, ...(n % 3 === 0 && { delay: '1h' }) }),
    )
    await t.queues.pause('q-1')
    await t.advance('5s')
    const stats = await t.chronos.stats()
    expect(stats.jobs).toMatchObject({
      scheduled: exact(800),
      queued: exact(1_598),
      retrying: exact(0),
      blocked: exact(2),
    })
    expect(stats.oldestDueAgeMs).toBe(5_000)
    const due = await (await t.chronos.store()).backlog({ exceptTag: '', deadMax: 10 })
    expect(due.map(({ queue }) => Number(queue.slice(2)))).toHaveLength(800)
    expect(due.every(({ queue }) => Number(queue.slice(2)) % 3 !== 0)).toBe(true)
  })

  test('stats of an empty store are zero', async () => {
    await using t = testChronos({ jobs, store })
    const stats = await t.chronos.stats()
    expect(stats).toMatchObject({ totalRetries: 0, retrySuccessRate: 0 })
    expect(stats).not.toHaveProperty('retryRate')
  })

  test('series separates first attempts from retries, per minute, with zeros between', async () => {
    await using t = testChronos({ jobs, store, work, startAt: new Date('2026-03-01T12:00:10Z') })
    await t.enqueueMany(good, [1, 2])
    await t.enqueue(mended)
    await t.advance('5m')
    const { points, step, from, to, complete } = await t.chronos.series({ from: '2026-03-01T12:00:00Z', step: '1m' })
    expect([step, from, to, complete]).toEqual(['1m', '2026-03-01T12:00:00.000Z', '2026-03-01T12:06:00.000Z', true])
    expect(points.map(({ firstTry, retried, failed, enqueued }) => [firstTry, retried, failed, enqueued])).toEqual([
      [2, 0, 1, 3],
      [0, 1, 0, 0],
      [0, 0, 0, 0],
      [0, 0, 0, 0],
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ])
    const hours = await t.chronos.series({ from: '2026-03-01T00:00:00Z', step: '6h', name: 'fixed' })
    expect(hours.points.map(({ runs, retries, retried }) => [runs, retries, retried])).toEqual([
      [0, 0, 0],
      [0, 0, 0],
      [2, 1, 1],
    ])
    const other = await t.chronos.series({ queue: 'other' })
    expect(other.points.every(({ runs }) => runs === 0)).toBe(true)
  })

  test('series has limits, and says which', async () => {
    await using t = testChronos({ jobs, store })
    const tooMany = t.chronos.series({ from: t.now().getTime() - 86_400_000 * 2, step: '1m' })
    await expect(tooMany).rejects.toThrow(/at most 1500/)
    await expect(t.chronos.series({ step: '90s' })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await expect(t.chronos.series({ from: t.now(), to: t.now() })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })

  test('a queue is reported with its jobs, its throughput and its workers', async () => {
    await using t = testChronos({ jobs, store, work, startAt: new Date('2026-03-01T12:00:10Z') })
    await t.enqueue(bad)
    await t.enqueueMany(good, [1, 2])
    await t.queues.set('idle', { paused: true })
    await t.advance('10s')
    const [first, idle, other] = (await t.queues.report()).data
    expect(first).toMatchObject({ name: 'default', paused: false, hasWorkers: true, workers: 1, concurrency: 7 })
    expect(first?.lastHour).toMatchObject({ enqueued: 2, succeeded: 2 })
    expect(first?.spark.succeeded).toEqual([...Array.from({ length: 14 }, () => 0), 2])
    expect(idle).toMatchObject({ name: 'idle', paused: true, hasWorkers: false, counts: { queued: exact(0) } })
    expect(other).toMatchObject({ name: 'other', counts: { retrying: exact(1) } })
    expect(other?.spark.failed.at(-1)).toBe(1)
    expect(await t.queues.get('other')).toEqual(other)
    await expect(t.queues.get('othr')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'there is no queue "othr"; did you mean "other"?',
    })
  })

  test('the retry wave shows when retries fall due', async () => {
    await using t = testChronos({ jobs, store, work })
    await t.enqueueMany(bad, [1, 2, 3])
    await t.enqueue(good, {}, { delay: '10m' })
    await t.enqueue(good, {}, { delay: '1d' })
    await t.advance('1s')
    const wave = await t.queues.retryWave(undefined, { window: '15m', buckets: 15 })
    expect(wave).toMatchObject({ bucketMs: 60_000, beyond: 1, due: 0, complete: true })
    expect(wave.buckets).toEqual([3, ...Array.from({ length: 14 }, () => 0)])
    expect(wave.scheduled.indexOf(1)).toBe(9)
    expect((await t.queues.retryWave('default')).buckets.every(count => count === 0)).toBe(true)
    await expect(t.queues.retryWave('nope')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(t.queues.retryWave(undefined, { buckets: 201 })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})
