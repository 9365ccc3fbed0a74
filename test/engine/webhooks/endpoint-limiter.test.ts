import { describe, expect, test } from 'vitest'
import type { Environment } from '../../../src/engine/client/environment.js'
import { VirtualClock } from '../../../src/engine/time/virtual.js'
import { ENDPOINT_CONCURRENCY, EndpointLimiter } from '../../../src/engine/webhooks/endpoint-limiter.js'
import type { Claimed, DeferRequest } from '../../../src/store/store.js'

function bench(moved: readonly number[] = []) {
  const clock = new VirtualClock()
  const deferrals: DeferRequest[] = []
  const left = [...moved]
  const defer = async (request: DeferRequest) => {
    deferrals.push(request)
    return { moved: left.shift() ?? 0 }
  }
  // Each batch takes a millisecond, so that two sweeps differ in their start.
  const env = {
    clock: { now: () => clock.now() + deferrals.length },
    time: clock,
    connection: { store: async () => ({ defer }) },
  }
  const lanes = new EndpointLimiter(env as unknown as Environment)
  const job = (dependency: string): Claimed => ({ dependency, startedAt: clock.now() }) as unknown as Claimed
  const full = (dependency: string): Claimed[] => Array.from({ length: ENDPOINT_CONCURRENCY }, () => job(dependency))
  return { clock, lanes, deferrals, job, full }
}

describe('the limit per endpoint', () => {
  test('admits a few deliveries of each endpoint', () => {
    const { lanes, job, full } = bench()
    expect(lanes.admit(job('a'), full('a').slice(1))).toBeUndefined()
    expect(lanes.admit(job('a'), full('b'))).toBeUndefined()
    expect(lanes.admit(job('a'), full('a'))?.delayMs).toBeGreaterThan(0)
  })

  test('gives one turn after the other, at the pace of the responses', () => {
    const { lanes, job, full } = bench()
    lanes.took(job('a'), 10)
    const turns = [1, 2, 3].map(() => lanes.admit(job('a'), full('a'))?.delayMs)
    expect(turns).toEqual([2, 4, 6])
  })

  test('considers pending deliveries that take longer than the earlier ones', () => {
    const { lanes, clock, job, full } = bench()
    const running = full('a').map(one => ({ ...one, startedAt: clock.now() - 10_000 }))
    expect(lanes.admit(job('a'), running)?.delayMs).toBe(2000)
  })

  test('retries soon if the endpoint was fast, and later if it is slow', () => {
    const { lanes, clock, job, full } = bench()
    const times = (count: number, running: readonly Claimed[]) =>
      Array.from({ length: count }, () => lanes.admit(job(running[0]!.dependency!), running)?.delayMs).at(-1)
    expect(times(1000, full('fast'))).toBe(500)
    const slow = full('slow').map(one => ({ ...one, startedAt: clock.now() - 14_000 }))
    expect(times(1000, slow)).toBe(28_000)
  })

  test('defers all other due deliveries, one sweep at a time', async () => {
    const { lanes, deferrals, clock, job, full } = bench([500, 500, 7])
    lanes.admit(job('a'), full('a'))
    lanes.admit(job('a'), full('a'))
    await clock.settle()
    expect(deferrals.map(({ dependency, from, delaysMs }) => [dependency, from, delaysMs.length])).toEqual(
      Array(3).fill(['a', { dueWithinMs: 0 }, 500]),
    )
    expect(new Set(deferrals.map(({ pass }) => pass)).size).toBe(1)
    lanes.admit(job('a'), full('a'))
    await clock.settle()
    expect(deferrals.map(({ pass }) => pass! - deferrals[0]!.pass!)).toEqual([0, 0, 0, 3])
  })
})
