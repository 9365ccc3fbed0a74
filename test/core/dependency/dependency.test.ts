import { describe, expect, it } from 'vitest'
import {
  type Ask,
  admit,
  advanced,
  callProbe,
  type Dependency,
  force,
  isFree,
  newDependency,
  probed,
  retriesPerSecond,
  seen,
  takeSlots,
  throttled,
} from '../../../src/core/dependency/dependency.js'
import { rampDelayMs, rampedBy } from '../../../src/core/dependency/ramp.js'
import { budgetSettings, circuitSettings } from '../../../src/core/dependency/settings.js'
import { circuitState } from '../../../src/core/dependency/state.js'

const CIRCUIT = circuitSettings({ minimumCalls: 10, failureRate: 0.5, openFor: '30s' })!
const BUDGET = budgetSettings(true)!
const half = (): number => 0.5

const closed = (settings: Dependency['settings'] = { circuit: CIRCUIT }): Dependency =>
  newDependency({ key: 'api' }, settings, 0)
const calls = (dependency: Dependency, at: number, { ok = 0, failed = 0 }): Dependency =>
  seen(dependency, { ok, failed, first: 0, retry: 0 }, at, 'ECONNREFUSED')
const ask = (jobId: string, more: Partial<Ask> = {}): Ask => ({
  jobId,
  run: 1,
  workerId: 'w',
  isRetry: false,
  isRepeatable: true,
  isLastRetry: false,
  probeMs: 35_000,
  ...more,
})
const verdict = (dependency: Dependency, jobId: string, now: number, more?: Partial<Ask>) =>
  admit(dependency, ask(jobId, more), now, half)

describe('a circuit', () => {
  it('stays closed below its volume, and opens with the call that reaches it', () => {
    const nine = calls(closed(), 800, { failed: 9 })
    expect(circuitState(nine, 800)).toBe('closed')
    const ten = calls(nine, 900, { failed: 1 })
    expect(ten).toMatchObject({ circuit: 'open', openUntil: 30_900, openings: 1, reason: 'ECONNREFUSED' })
  })

  it('opens at its share of failures, not below', () => {
    expect(calls(closed(), 0, { ok: 5, failed: 5 }).circuit).toBe('open')
    expect(calls(closed(), 0, { ok: 6, failed: 5 }).circuit).toBe('closed')
  })

  it('forgets calls that are older than its window', () => {
    const old = calls(closed(), 0, { failed: 9 })
    expect(calls(old, 60_001, { failed: 5, ok: 6 }).calls).toHaveLength(1)
    expect(calls(old, 61_000, { failed: 1 }).circuit).toBe('closed')
  })

  it('refuses every job until its time, then lets exactly one through', () => {
    const open = calls(closed(), 900, { failed: 10 })
    expect(verdict(open, 'a', 30_899)[1]).toMatchObject({ kind: 'defer', by: 'circuit', pass: open.round })
    const [probing, first] = verdict(open, 'a', 30_900)
    expect(first).toEqual({ kind: 'probe' })
    expect(circuitState(probing, 30_900)).toBe('half-open')
    expect(verdict(probing, 'b', 30_901)[1].kind).toBe('defer')
  })

  it('opens for longer each time that a probe fails, up to its limit', () => {
    let dependency = calls(closed(), 0, { failed: 10 })
    const lengths: number[] = []
    for (let n = 0; n < 7; n++) {
      const now = dependency.openUntil!
      const [probing] = verdict(dependency, `job-${n}`, now)
      dependency = probed(probing, `job-${n}`, 'down', now)
      lengths.push((dependency.openUntil! - now) / 1_000)
    }
    expect(lengths).toEqual([60, 120, 240, 480, 600, 600, 600])
  })

  it('sends another job as probe each time, and the same one only if there is no other', () => {
    const open = calls(closed(), 0, { failed: 10 })
    const [probing] = verdict(open, 'a', 30_000)
    const again = probed(probing, 'a', 'down', 30_000)
    expect(verdict(again, 'a', again.openUntil!)[1].kind).toBe('defer')
    expect(verdict(again, 'b', again.openUntil!)[1].kind).toBe('probe')
    expect(verdict(again, 'a', again.openUntil! + 5_000)[1].kind).toBe('probe')
  })

  it('sends a job with its last retry only if no other job has probed for 40 s', () => {
    const open = calls(closed(), 0, { failed: 10 })
    const last = { isRetry: true, isLastRetry: true }
    expect(verdict(open, 'a', 30_000, last)[1].kind).toBe('defer')
    expect(verdict(open, 'b', 30_000, { isRetry: true })[1].kind).toBe('probe')
    expect(verdict(open, 'a', 69_999, last)[1].kind).toBe('defer')
    expect(verdict(open, 'a', 70_000, last)[1].kind).toBe('probe')
  })

  it('never sends an at-most-once job as probe', () => {
    const open = calls(closed(), 0, { failed: 10 })
    expect(verdict(open, 'a', 30_000, { isRepeatable: false })[1].kind).toBe('defer')
    // With no other job to send, the open time ends it with a ramp, not with all jobs at once.
    const [ramping, late] = verdict(open, 'a', 75_000, { isRepeatable: false })
    expect([ramping.circuit, late.kind]).toEqual(['ramping', 'go'])
  })

  it('ignores a probe without a result', () => {
    const open = calls(closed(), 0, { failed: 10 })
    const [probing] = verdict(open, 'a', 30_000)
    expect(verdict(probing, 'b', 64_999)[1].kind).toBe('defer')
    expect(verdict(probing, 'b', 65_000)[1].kind).toBe('probe')
  })

  it('is not decided by a probe with an inconclusive result', () => {
    const [probing] = verdict(calls(closed(), 0, { failed: 10 }), 'a', 30_000)
    const unsure = probed(probing, 'a', 'unsure', 31_000)
    expect(unsure).toMatchObject({ circuit: 'open', openUntil: 31_000, openings: 1 })
    expect(verdict(unsure, 'b', 31_000)[1].kind).toBe('probe')
  })

  it('ignores the result of a job that is not its probe', () => {
    const open = calls(closed(), 0, { failed: 10 })
    expect(probed(open, 'a', 'up', 1_000)).toBe(open)
  })

  it('ramps up step by step, and opens sooner while it does', () => {
    const [probing] = verdict(calls(closed(), 0, { failed: 10 }), 'a', 30_000)
    let dependency = probed(probing, 'a', 'up', 30_000)
    expect(dependency.circuit).toBe('ramping')
    const delays: number[] = []
    for (let n = 0; n < 26; n++) {
      const [next, given] = verdict(dependency, `${n}`, 30_000)
      delays.push(given.kind === 'defer' ? given.delayMs : 0)
      dependency = next
    }
    expect(delays.slice(0, 3)).toEqual([0, 200, 400])
    expect(delays[25]).toBe(5_000)
    expect(calls(dependency, 31_000, { failed: 3 }).circuit).toBe('open')
    expect(advanced(dependency, 70_000)).toMatchObject({ circuit: 'closed', openings: 0 })
  })

  it('lets a job with a slot start without asking, in the round of the slot', () => {
    const [probing] = verdict(calls(closed(), 0, { failed: 10 }), 'a', 30_000)
    const ramping = probed(probing, 'a', 'up', 30_000)
    const { dependency } = takeSlots(ramping, 100, 30_000)
    expect(verdict(dependency, 'b', 30_000, { pass: dependency.round })[1]).toEqual({ kind: 'go' })
    expect(verdict(dependency, 'b', 30_000, { pass: dependency.round - 1 })[1].kind).toBe('defer')
  })

  it('does not release the waiting jobs all at once because slots were left unused', () => {
    const [probing] = verdict(calls(closed(), 0, { failed: 10 }), 'a', 30_000)
    let dependency = probed(probing, 'a', 'up', 30_000)
    let passed = 0
    for (let n = 0; n < 500; n++) {
      const [next, given] = verdict(dependency, `${n}`, 50_000)
      if (given.kind === 'go') passed++
      dependency = next
    }
    // After 20 s it admits 80 per second.
    expect(passed).toBeLessThanOrEqual(41)
  })

  it('is held open and held closed by an operator, and returned to automatic', () => {
    const open = force(closed(), 'open', 1_000)
    expect(verdict(open, 'a', 1e9)[1]).toMatchObject({ kind: 'defer', why: expect.stringContaining('manually') })
    expect(callProbe(open, 1e9)).toBeUndefined()
    expect(force(open, 'auto', 2_000)).toMatchObject({ circuit: 'ramping' })
    const shut = force(calls(closed(), 0, { failed: 10 }), 'closed', 1_000)
    expect(verdict(shut, 'a', 1_000)[1]).toEqual({ kind: 'go' })
    expect(calls(shut, 2_000, { failed: 100 }).circuit).not.toBe('open')
  })

  it('asks for a probe once, and again when that one gave no result', () => {
    const open = calls(closed(), 0, { failed: 10 })
    expect(callProbe(open, 29_999)).toBeUndefined()
    const called = callProbe(open, 30_000)!
    expect(callProbe(called, 34_999)).toBeUndefined()
    expect(callProbe(called, 35_000)).toBeDefined()
  })
})

describe('Retry-After', () => {
  it('blocks the dependency for every job until then, and releases step by step', () => {
    const dependency = throttled(closed(), 10_000, 1_000)
    const [next, first] = verdict(dependency, 'a', 1_000)
    expect(first).toMatchObject({ kind: 'defer', delayMs: 10_000, by: 'ramp' })
    expect(verdict(next, 'b', 1_000)[1]).toMatchObject({ delayMs: 10_200 })
  })

  it('is not restarted by each of many equal responses', () => {
    const dependency = throttled(closed(), 10_000, 1_000)
    expect(throttled(dependency, 10_000, 1_500)).toBe(dependency)
    expect(throttled(dependency, 60_000, 1_500).round).toBe(dependency.round + 1)
  })

  it('keeps an open circuit open for as long', () => {
    const open = calls(closed(), 0, { failed: 10 })
    expect(throttled(open, 90_000, 1_000).openUntil).toBe(91_000)
  })
})

describe('a retry budget', () => {
  const started = (first: number): Dependency =>
    seen(closed({ budget: BUDGET }), { ok: 0, failed: 0, first, retry: 0 }, 5_000)

  it.each([
    [0, 1],
    [10, 1.2],
    [100, 3],
    [1_000, 21],
  ])('after %i first attempts in its window admits %d retries a second', (first, perSecond) => {
    expect(retriesPerSecond(started(first), BUDGET, 5_000)).toBeCloseTo(perSecond)
  })

  it('gives retries over it a slot each, in order, and first attempts pass', () => {
    let dependency = started(1_000)
    const delays: number[] = []
    for (let n = 0; n < 63; n++) {
      const [next, given] = verdict(dependency, `${n}`, 5_000, { isRetry: true })
      if (given.kind === 'defer') delays.push(given.delayMs)
      dependency = next
    }
    // A second's worth may start at once; the others follow at 21 a second.
    expect(delays.length).toBeGreaterThanOrEqual(41)
    expect(delays.at(-1)).toBeGreaterThanOrEqual(1_900)
    expect(delays.at(-1)).toBeLessThanOrEqual(2_100)
    expect(verdict(dependency, 'first', 5_000)[1]).toEqual({ kind: 'go' })
    expect(isFree(dependency, false)).toBe(true)
    expect(isFree(dependency, true)).toBe(false)
  })

  it('takes a slot back when there are far fewer first attempts by now', () => {
    const dependency = seen(started(1_000), { ok: 0, failed: 0, first: 0, retry: 200 }, 14_000)
    expect(verdict(dependency, 'a', 14_000, { isRetry: true, pass: dependency.round })[1].kind).toBe('go')
    expect(verdict(dependency, 'a', 15_500, { isRetry: true, pass: dependency.round })[1].kind).toBe('defer')
  })
})

describe('a ramp', () => {
  it('lets the stated number through, by both ways of counting', () => {
    const ramp = { perSecond: 5, doubleEveryMs: 5_000 }
    expect([0, 1, 24, 25, 26, 75].map(rank => Math.round(rampDelayMs(ramp, rank)))).toEqual([
      0, 200, 4_800, 5_000, 5_100, 10_000,
    ])
    for (const rank of [1, 7, 25, 74, 75, 500, 3_000]) {
      expect(rampedBy(ramp, rampDelayMs(ramp, rank))).toBeCloseTo(rank, 6)
    }
  })
})

describe('settings', () => {
  it.each([
    [{ minimumCalls: 0 }, 'circuit.minimumCalls: expected a whole number from 1 to 1000000, got 0'],
    [{ failureRate: 2 }, 'circuit.failureRate: expected a number from 0.01 to 1, got 2'],
    [{ openfor: '3s' }, 'did you mean "openFor"?'],
    [{ ramp: { perSecond: 0 } }, 'circuit.ramp.perSecond: expected a number from 0.1'],
    ['yes', 'circuit: expected true or false, or an object, got "yes"'],
  ])('refuses %j', (input, words) => {
    expect(() => circuitSettings(input)).toThrow(words)
  })

  it('refuses a budget that cannot end', () => {
    expect(() => budgetSettings({ ratio: 0, minPerSecond: 0 })).toThrow('minPerSecond: expected a number from 0.01')
  })
})
