import { describe, expect, test } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { type TestChronos, testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

type Percentiles = Readonly<Record<'p50' | 'p95' | 'p99', number>>

const START = new Date('2026-03-01T12:00:10Z')
const shares = { p50: 0.5, p95: 0.95, p99: 0.99 }

function expectClose(found: Percentiles | undefined, values: readonly number[]): void {
  const sorted = [...values].sort((a, b) => a - b)
  for (const [name, share] of Object.entries(shares) as [keyof Percentiles, number][]) {
    const exact = sorted[Math.ceil(share * sorted.length) - 1]!
    expect(Math.abs((found?.[name] ?? Number.NaN) - exact), `${name} of ${sorted.length}`).toBeLessThanOrEqual(
      0.02 * exact,
    )
  }
}

/** The run times and waits of the jobs in the store. */
async function measured(t: TestChronos, filter: object): Promise<{ readonly run: number[]; readonly wait: number[] }> {
  const { data } = await t.jobs.list(filter, { limit: 100 })
  const times = data.map(({ runAt, startedAt, finishedAt }) =>
    [runAt, startedAt, finishedAt].map(at => Date.parse(at!)),
  )
  return { run: times.map(([, start, end]) => end! - start!), wait: times.map(([due, start]) => start! - due!) }
}

describe.each(STORES)('percentiles on %s', (_, store) => {
  /** Handlers take as many virtual milliseconds as their payload says. */
  function world() {
    const takes = (name: string, queue: string) =>
      defineJob({ name, queue, run: (ms: number) => new Promise<void>(end => void t.clock.timer(ms, end)) })
    const [mail, bill, web] = [takes('mail', 'office'), takes('bill', 'office'), takes('web page', 'public')]
    const work = { queues: ['office', 'public'], concurrency: 3 }
    const t = testChronos({ jobs: [mail, bill, web], store, startAt: START, work })
    return { t, mail, bill, web }
  }

  test('for run time and wait agree with the jobs, by name, by queue and in all', async () => {
    const { t, mail, bill, web } = world()
    await using _ = t
    await t.enqueueMany(
      mail,
      Array.from({ length: 50 }, (_, n) => Math.round(40 * 1.12 ** n)),
    )
    await t.enqueueMany(
      bill,
      Array.from({ length: 30 }, (_, n) => 500 + 10 * n),
    )
    await t.enqueueMany(
      web,
      Array.from({ length: 20 }, () => 1_234),
    )
    await t.advance('50m', { despite: 'handlers' })
    const steps = { from: START, to: '2026-03-01T13:00:00Z', step: '1h', percentiles: true } as const
    for (const filter of [
      { name: 'mail' },
      { name: 'bill' },
      { queue: 'office' },
      { queue: 'public', name: 'web page' },
      {},
    ]) {
      const { run, wait } = await measured(t, filter)
      const { points, complete } = await t.chronos.series({ ...steps, ...filter })
      expect([points.length, complete]).toEqual([1, true])
      expectClose(points[0]?.runMs, run)
      expectClose(points[0]?.waitMs, wait)
    }
    const absent = await t.chronos.series({ ...steps, name: 'web page', queue: 'office' })
    expect(absent.points[0]).not.toHaveProperty('runMs')
    const plain = await t.chronos.series({ ...steps, percentiles: false })
    expect(plain.points[0]).not.toHaveProperty('runMs')
  })

  test('per hour are those of the sum of its minutes', async () => {
    const { t, mail } = world()
    await using _ = t
    await t.enqueueMany(mail, [100, 200, 3_000])
    await t.advance('2m', { despite: 'handlers' })
    await t.enqueueMany(mail, [40_000, 500])
    await t.advance('2m', { despite: 'handlers' })
    const range = { from: '2026-03-01T12:00:00Z', to: '2026-03-01T14:00:00Z', percentiles: true } as const
    const { points: minutes } = await t.chronos.series({ ...range, step: '1m' })
    expectClose(minutes[0]?.runMs, [100, 200, 3_000])
    expectClose(minutes[2]?.runMs, [500, 40_000])
    expect(minutes[1]).not.toHaveProperty('runMs')
    // Steps of more than an hour are read from the counts per hour.
    const { points: hours } = await t.chronos.series({ ...range, step: '2h' })
    expect(hours).toHaveLength(1)
    expectClose(hours[0]?.runMs, [100, 200, 3_000, 40_000, 500])
  })
})
