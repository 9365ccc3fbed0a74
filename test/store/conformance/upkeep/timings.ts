import { addPairs, quantiles } from '../../../../src/core/values/histogram.js'
import { countsId } from '../../../../src/store/counts-id.js'
import type { Timings } from '../../../../src/store/timing-sum.js'
import { QUEUE_TIMINGS, TIMING_PLACES, TIMING_PLACES_ID, TIMINGS } from '../../../../src/store/timings.js'
import { type Bench, died, lost, retry, snoozed, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

const SHARES = [0.5, 0.95, 0.99]

export function timingCases(bench: Bench, { describe, expect, it }: Suite): void {
  async function timings(kind: string, place: string, resolution: '1m' | '1h' = '1h'): Promise<Timings | undefined> {
    while ((await bench.store.fold(7)) > 0);
    const [record] = await bench.store.records(kind, { ids: [countsId(resolution, bench.now(), place)] })
    return record && (JSON.parse(record.body) as Timings)
  }

  /** Settles a run that waited and took this long. */
  async function ran(waitMs: number, tookMs: number, end = succeeded(), given = {}): Promise<void> {
    const job = await bench.running(given)
    const startedAt = bench.now() - tookMs
    await bench.settle(job, end, { dueAt: startedAt - waitMs, startedAt })
  }

  function expectClose(pairs: readonly number[] | undefined, values: readonly number[]): void {
    const sorted = [...values].sort((a, b) => a - b)
    const found = quantiles(addPairs(new Map(), pairs ?? []), SHARES)!
    for (const [index, share] of SHARES.entries()) {
      const exact = sorted[Math.ceil(share * sorted.length) - 1]!
      expect(Math.abs(found[index]! - exact) <= 0.02 * exact).toBe(true)
    }
  }

  describe('timings', () => {
    it('add up over many workers and minutes, by name, by queue and by hour', async () => {
      const [mail, web]: [number[], number[]] = [[], []]
      for (let minute = 0; minute < 2; minute++) {
        for (let worker = 0; worker < 4; worker++) {
          const name = worker < 3 ? 'send-mail' : 'web'
          await bench.addMany(10, { name })
          const claimed = await bench.claim({ workerId: `worker-${worker}`, limit: 10 })
          const settlements = claimed.map((job, index) => {
            const tookMs = Math.round(1.7 ** (index + worker) + 100 * minute)
            ;(name === 'web' ? web : mail).push(tookMs)
            const startedAt = bench.now() - tookMs
            return bench.settlement(job, succeeded(), { dueAt: startedAt - 2 * tookMs, startedAt })
          })
          await bench.store.settle(settlements)
        }
        await bench.store.fold(3)
        bench.clock.advance(60_000)
      }
      const double = (values: readonly number[]) => values.map(value => 2 * value)
      for (const [kind, place, values] of [
        [TIMINGS, 'default send-mail', mail],
        [TIMINGS, 'default web', web],
        [QUEUE_TIMINGS, 'default', [...mail, ...web]],
      ] as const) {
        const sum = await timings(kind, place)
        expectClose(sum?.run, values)
        expectClose(sum?.wait, double(values))
        expect([...addPairs(new Map(), sum?.run ?? []).values()].reduce((a, b) => a + b)).toBe(values.length)
      }
    })

    it('include runs that failed, but neither the duration of a lost run nor a deferral', async () => {
      await ran(10, 20)
      await ran(11, 21, died())
      await ran(12, 22, lost({ delayMs: 60_000 }), { name: 'other' })
      const job = await bench.running({ name: 'deferred' })
      await bench.settle(job, snoozed(60_000, { status: 'deferred' }), { dueAt: 0 })
      expect(await timings(TIMINGS, 'default send-mail', '1m')).toMatchObject({
        run: [20, 1, 1, 1],
        wait: [10, 1, 1, 1],
      })
      expect(await timings(TIMINGS, 'default other')).toEqual({ wait: [12, 1] })
      expect(await timings(TIMINGS, 'default deferred')).toBeUndefined()
    })

    it.each([
      ['a success', succeeded()],
      ['a failure', retry(60_000)],
    ])('include %s that is settled beside a lost run', async (_, end) => {
      const job = await bench.running({ runAt: { delayMs: 0 } })
      bench.clock.advance(30)
      const given = { dueAt: job.runAt, startedAt: bench.now() - 23 }
      await bench.store.settle([
        bench.settlement(job, end, given),
        bench.settlement({ ...job, token: 'gone' }, end, given),
      ])
      expect(await timings(TIMINGS, 'default send-mail')).toEqual({
        run: [23, 1],
        wait: [7, 1],
        slowest: [[23, job.id]],
      })
    })

    it('have no wait if the due time of a run is not known', async () => {
      await bench.settle(await bench.running(), succeeded(), { startedAt: bench.now() - 5 })
      expect(await timings(QUEUE_TIMINGS, 'default')).toEqual({ run: [5, 1] })
    })

    it('name the ten slowest runs, and the ten jobs with the highest attempts', async () => {
      const ids: string[] = []
      for (let n = 0; n < 12; n++) ids.push(...(await bench.addMany(1)))
      const claimed = await bench.claim()
      const settlements = claimed.map((job, n) => {
        const tookMs = ((n * 5) % 12) * 100
        const end = n === 0 ? retry(0) : succeeded()
        return bench.settlement(job, end, { startedAt: bench.now() - tookMs, attempt: n + 1 })
      })
      for (const settlement of settlements) await bench.store.settle([settlement])
      const again = await bench.claimOne()
      await bench.settle(again, succeeded(), { startedAt: bench.now() - 1_050, attempt: 20 })
      const slow = claimed.map((job, n) => [((n * 5) % 12) * 100, job.id] as const)
      const expected = [...slow.slice(1), [1_050, again.id] as const].sort(([a], [b]) => b - a).slice(0, 10)
      for (const resolution of ['1m', '1h'] as const) {
        const found = await timings(TIMINGS, 'default send-mail', resolution)
        expect(found?.slowest).toEqual(expected)
        expect(found?.retried?.map(([attempt]) => attempt)).toEqual([20, 12, 11, 10, 9, 8, 7, 6, 5, 4])
        expect(found?.retried?.[0]).toEqual([20, again.id])
      }
    })

    it('share one histogram per queue for job names beyond the limit', async () => {
      const full = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`default name-${n}`, bench.now()]))
      await bench.store.putRecords([{ kind: TIMING_PLACES, id: TIMING_PLACES_ID, body: JSON.stringify(full) }])
      await ran(1, 2, succeeded(), { name: 'new-1' })
      await ran(1, 3, succeeded(), { name: 'new-2' })
      await ran(1, 4, succeeded(), { name: 'name-7' })
      expect(await timings(TIMINGS, 'default new-1')).toBeUndefined()
      expect(await timings(TIMINGS, 'default ')).toMatchObject({ run: [2, 1, 1, 1] })
      expect(await timings(TIMINGS, 'default name-7')).toMatchObject({ run: [4, 1] })
      expect(await timings(QUEUE_TIMINGS, 'default')).toMatchObject({ run: [2, 1, 1, 1, 1, 1] })
    })
  })
}
