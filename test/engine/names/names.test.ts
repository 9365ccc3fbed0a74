import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const START = new Date('2026-03-01T12:00:10Z')

describe.each(STORES)('job names on %s', (_, store) => {
  /** Handlers take as many virtual milliseconds as their payload says. */
  function world() {
    const takes = (name: string, queue: string) =>
      defineJob({ name, queue, run: (ms: number) => new Promise<void>(end => void t.clock.timer(ms, end)) })
    const mail = takes('mail', 'office')
    const web = takes('web page', 'public')
    const bill = defineJob({
      name: 'bill',
      queue: 'office',
      retry: fixed({ delay: '1s', maxRetries: 2, jitter: 'none' }),
      async run(fails: number, job) {
        if (job.attempt <= fails) throw new TypeError('no money')
      },
    })
    const work = { queues: ['office', 'public', 'night'], concurrency: 5 }
    const t = testChronos({ jobs: [mail, web, bill], store, startAt: START, work })
    return { t, mail, web, bill }
  }

  test('are listed with what happened in the range, most runs first', async () => {
    const { t, mail, web, bill } = world()
    await using _ = t
    await t.enqueueMany(mail, [100, 200, 300])
    await t.enqueue(mail, 400, { queue: 'night', tenantId: 'acme' })
    await t.enqueue(web, 50)
    for (const fails of [0, 1, 3]) await t.enqueue(bill, fails)
    await t.advance('10m', { despite: 'handlers' })
    const { data, total, complete, from } = await t.chronos.names.list({ from: START })
    expect([total, complete, from]).toEqual([3, true, '2026-03-01T12:00:00.000Z'])
    expect(
      data.map(({ name, queues, started, failed, dead, retries }) => [name, queues, started, failed, dead, retries]),
    ).toEqual([
      ['bill', ['office'], 6, 4, 1, 3],
      ['mail', ['night', 'office'], 4, 0, 0, 0],
      ['web page', ['public'], 1, 0, 0, 0],
    ])
    expect(data[0]?.failureShare).toBeCloseTo(4 / 6)
    expect(data[0]?.perMinute).toBeCloseTo(6 / ((10 * 60 + 10) / 60))
    const p99 = data[1]?.runMs?.p99 ?? 0
    expect(Math.abs(p99 - 400)).toBeLessThanOrEqual(8)
    const office = await t.chronos.names.list({ from: START, queue: 'office', q: 'MAI' })
    expect(office.data.map(({ name, started }) => [name, started])).toEqual([['mail', 3]])
    const later = await t.chronos.names.list({ from: '2026-03-01T12:05:00Z' })
    expect(later.data).toEqual([])
  })

  test('are reported with queues, errors, slowest runs, most retried jobs and workers', async () => {
    const { t, mail, bill } = world()
    await using _ = t
    await t.enqueueMany(
      mail,
      Array.from({ length: 12 }, (_, n) => 100 * (n + 1)),
    )
    const slow = await t.enqueue(mail, 5_000, { queue: 'night' })
    const [, once, dead] = [await t.enqueue(bill, 0), await t.enqueue(bill, 1), await t.enqueue(bill, 3)]
    await t.advance('10m', { despite: 'handlers' })
    const report = await t.chronos.names.get('mail', { from: START })
    expect(report.slowest).toHaveLength(10)
    expect(report.slowest[0]).toEqual({
      id: slow.id,
      runMs: 5_000,
      queue: 'night',
      state: 'succeeded',
      finishedAt: expect.any(String),
    })
    expect(report.slowest.map(({ runMs }) => runMs)).toEqual([5_000, 1_200, 1_100, 1_000, 900, 800, 700, 600, 500, 400])
    expect(report.queues.map(({ queue, started }) => [queue, started])).toEqual([
      ['office', 12],
      ['night', 1],
    ])
    expect(report.points.reduce((sum, { runs }) => sum + runs, 0)).toBe(report.started)
    expect([report.mostRetried, report.errors, report.complete]).toEqual([[], [], true])
    expect(report.workers).toMatchObject([{ id: t.worker.id, state: 'alive' }])
    const failing = await t.chronos.names.get('bill', { from: START })
    expect(failing.errors).toMatchObject([{ failures: 4, title: 'no money' }])
    expect(failing.mostRetried).toMatchObject([
      { id: dead.id, attempts: 3, state: 'dead' },
      { id: once.id, attempts: 2, state: 'succeeded' },
    ])
    await t.jobs.delete(dead.id)
    const removed = await t.chronos.names.get('bill', { from: START })
    expect(removed.mostRetried[0]).toEqual({ id: dead.id, attempts: 3 })
  })

  test('are looked up by their spelling', async () => {
    const { t, mail } = world()
    await using _ = t
    await t.enqueue(mail, 1)
    await t.advance('5s', { despite: 'handlers' })
    await expect(t.chronos.names.get('mial')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'there is no job named "mial"; did you mean "mail"?',
    })
    expect(await t.chronos.names.get('web page')).toMatchObject({ started: 0, queues: [], slowest: [] })
    await expect(t.chronos.names.list({ from: t.now(), to: t.now() })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})
