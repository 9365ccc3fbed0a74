import { describe, expect, it } from 'vitest'
import { exponential } from '../../../src/core/policy/builders.js'
import type { Jitter } from '../../../src/core/policy/policy.js'
import { PRESETS } from '../../../src/core/policy/presets.js'
import { simulate } from '../../../src/core/simulation/simulate.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const JOBS = 100

describe.each(STORES)('100 jobs that fail together, on %s', (_, store) => {
  /** When each of them ran again, in milliseconds after the failure of all. */
  async function retriesOf(jitter: Jitter): Promise<readonly number[]> {
    const [first, again]: [number[], number[]] = [[], []]
    let now = (): number => 0
    const call = defineJob({
      name: 'call',
      retry: exponential({ base: '60s', jitter }),
      async run(_payload: number, job) {
        if (job.attempt > 1) {
          again.push(now())
          return
        }
        first.push(now())
        throw new Error('503')
      },
    })
    await using t = testChronos({ jobs: [call], store, work: { concurrency: JOBS } })
    now = () => t.clock.now()
    await t.enqueueMany(
      call,
      Array.from({ length: JOBS }, (_, i) => i),
    )
    await t.drain()
    expect(new Set(first).size).toBe(1)
    expect(again).toHaveLength(JOBS)
    return again.map(at => at - first[0]!)
  }

  it('retry at one instant without jitter', async () => {
    expect(new Set(await retriesOf('none'))).toEqual(new Set([60_000]))
  })

  it('retry from T+48 s to T+72 s with ±20 %, spread over 24 s', async () => {
    const retries = await retriesOf(0.2)
    expect(Math.min(...retries)).toBeGreaterThanOrEqual(48_000)
    expect(Math.max(...retries)).toBeLessThanOrEqual(72_000)
    expect(Math.max(...retries) - Math.min(...retries)).toBeGreaterThan(22_000)
    const perSecond = new Map<number, number>()
    for (const second of retries.map(ms => Math.floor(ms / 1_000)))
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1)
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(12)
  })
})

it('the simulator gives the same result as the engine', () => {
  const { withJitter, withoutJitter } = simulate(PRESETS.standard, { jobs: JOBS, outage: '1s' })
  expect(withoutJitter.waves[1]).toMatchObject({ fromMs: 60_000, toMs: 60_000, attempts: JOBS })
  expect(withJitter.waves[1]!.fromMs).toBeGreaterThanOrEqual(48_000)
  expect(withJitter.waves[1]!.toMs).toBeLessThanOrEqual(72_000)
})
