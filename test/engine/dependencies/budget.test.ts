import { describe, expect, it } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const perSecond = (times: readonly number[]): readonly number[] => {
  const bins = new Map<number, number>()
  for (const at of times) bins.set(Math.floor(at / 1_000), (bins.get(Math.floor(at / 1_000)) ?? 0) + 1)
  return [...bins.entries()].sort(([a], [b]) => a - b).map(([, count]) => count)
}

describe.each(STORES)('a retry budget on %s', (_, open) => {
  it('starts at most 20 % + 1/s of retries beside a steady flow of first attempts, which are not delayed', async () => {
    const retries: number[] = []
    const waits: number[] = []
    const mail = defineJob<{ due: number; fails?: boolean }, void>({
      name: 'mail',
      queue: 'mails',
      retry: { maxRetries: 5, backoff: { type: 'fixed', delay: '30s' }, jitter: 'none', budget: true },
      run({ due, fails }, job) {
        if (job.attempt > 1) retries.push(t.clock.now())
        else waits.push(t.clock.now() - due)
        if (fails && job.attempt === 1) throw new Error('not yet')
      },
    })
    const t = testChronos({ jobs: [mail], store: open, work: { concurrency: 100 } })
    const begin = t.clock.now()
    await t.enqueueMany(
      mail,
      Array.from({ length: 1_000 }, () => ({ due: begin, fails: true })),
    )
    await t.advance('15s')
    waits.length = 0
    for (let second = 0; second < 75; second++) {
      await t.enqueueMany(
        mail,
        Array.from({ length: 100 }, () => ({ due: t.clock.now() })),
      )
      await t.advance('1s')
    }
    // 20 % of 100 a second, and one more; the second in which they all fall due may carry a second's worth over.
    const rates = perSecond(retries)
    expect(Math.max(...rates.slice(1))).toBeLessThanOrEqual(24)
    expect(rates.slice(2, 30).reduce((sum, rate) => sum + rate, 0) / 28).toBeGreaterThan(17)
    expect(retries).toHaveLength(1_000)
    expect(waits).toHaveLength(7_500)
    expect(Math.max(...waits)).toBeLessThanOrEqual(50)
    await t.close()
  })
})

describe('without circuit and budget', () => {
  it('every timeline follows the policy exactly', async () => {
    const starts: number[] = []
    const job = defineJob({
      name: 'call',
      dependsOn: 'https://api.example',
      retry: { maxRetries: 3, backoff: { type: 'exponential', base: '1s' }, jitter: 'none' },
      run() {
        starts.push(t.clock.now())
        throw new Error('down')
      },
    })
    const t = testChronos({ jobs: [job] })
    const begin = t.clock.now()
    await t.enqueue(job, undefined)
    await t.drain()
    expect(starts.map(at => at - begin)).toEqual([0, 1_000, 3_000, 7_000])
    expect((await t.chronos.circuits.list()).data).toEqual([])
    await t.close()
  })
})
