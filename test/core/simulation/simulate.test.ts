import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JobFacts } from '../../../src/core/job/job.js'
import { decide } from '../../../src/core/job/lifecycle.js'
import { Course } from '../../../src/core/policy/failure-path.js'
import {
  type Backoff,
  type Jitter,
  MAX_RETRIES,
  mergePolicies,
  type Policy,
  parsePolicy,
} from '../../../src/core/policy/policy.js'
import { PRESETS } from '../../../src/core/policy/presets.js'
import { preview } from '../../../src/core/policy/preview.js'
import { outageSurvived } from '../../../src/core/policy/survival.js'
import { DueJobs } from '../../../src/core/simulation/due-heap.js'
import { SeriesRecorder } from '../../../src/core/simulation/series.js'
import {
  JOBS_MAX,
  RUNS_MAX,
  type Scenario,
  type SimulatedHerd,
  simulate,
  simulateInput,
} from '../../../src/core/simulation/simulate.js'
import { toMs } from '../../../src/core/values/duration.js'
import { ChronosError } from '../../../src/core/values/error.js'

const { standard } = PRESETS
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const policyOf = (input: unknown): Policy => mergePolicies(parsePolicy(input, 'policy'))

/** The seconds that have attempts. */
const seconds = ({ series }: SimulatedHerd): readonly number[] =>
  series.attempts.flatMap((count, i) => (count > 0 ? [(i * series.binMs) / 1_000] : []))

describe('the thundering herd (R51): 100 jobs fail together, base 60 s', () => {
  // The outage ends before the first retry; the dependency may or may not have the capacity for it.
  const scenario: Scenario = { jobs: 100, outage: '10s' }

  it('without jitter all retry at exactly T+60 s, 100 in one second', () => {
    const { withoutJitter } = simulate(standard, scenario)
    expect(withoutJitter.waves[1]).toEqual({ retry: 1, attempts: 100, fromMs: 60_000, toMs: 60_000 })
    expect(seconds(withoutJitter)).toEqual([0, 60])
    expect(withoutJitter.peakPerSecond).toBe(100)
  })

  it('with ±20 % they retry between T+48 s and T+72 s, spread over 24 s', () => {
    const { withJitter } = simulate(standard, scenario)
    const wave = withJitter.waves[1]!
    expect(wave.attempts).toBe(100)
    expect(wave.fromMs).toBeGreaterThanOrEqual(48_000)
    expect(wave.toMs).toBeLessThanOrEqual(72_000)
    // The ends of the window are reached: 100 draws leave a second or two of the 24 at either end.
    expect(wave.toMs - wave.fromMs).toBeGreaterThan(22_000)
    expect(seconds(withJitter).filter(second => second > 0 && (second < 48 || second > 72))).toEqual([])
    expect(withJitter.peakPerSecond).toBeLessThanOrEqual(12)
  })

  it('a server for 10 per second loses 70 of the simultaneous jobs, and none of the spread ones', () => {
    const { withJitter, withoutJitter } = simulate(standard, { ...scenario, capacityPerSecond: 10 })
    // 10 are served at T+60 s, 10 at T+180 s, 10 at T+420 s: the others fail again together each time.
    expect(withoutJitter).toMatchObject({
      succeeded: 30,
      dead: 70,
      deadAfterRecovery: 70,
      attempts: 100 + 100 + 90 + 80,
    })
    expect(withJitter.dead).toBe(0)
    expect(withJitter.turnedAway).toBeLessThan(10)
  })
})

describe('simulate', () => {
  const scenario: Scenario = { jobs: 1_000, within: '1s', outage: '5m', capacityPerSecond: 100, seed: 7 }

  it('is the same for the same seed, and different for another', () => {
    expect(simulate(standard, scenario)).toEqual(simulate(standard, scenario))
    const other = simulate(standard, { ...scenario, seed: 8 })
    expect(other.withJitter.series).not.toEqual(simulate(standard, scenario).withJitter.series)
    expect(other.withoutJitter).toEqual(simulate(standard, scenario).withoutJitter)
  })

  it('says what it simulated, in milliseconds', () => {
    expect(simulate(standard, { jobs: 5, outage: '1m' }).scenario).toEqual({
      jobs: 5,
      withinMs: 0,
      outageMs: 60_000,
      seed: 1,
    })
    expect(simulate(standard, scenario).scenario.capacityPerSecond).toBe(100)
  })

  it('spreads the first runs evenly', () => {
    const { waves, series } = simulate(standard, { jobs: 100, within: '10s', outage: '10s' }).withJitter
    expect(waves[0]).toEqual({ retry: 0, attempts: 100, fromMs: 0, toMs: 9_900 })
    expect(series.attempts.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 10))
  })

  it('serves an attempt at the exact end of the outage', () => {
    const at = (outage: number) => simulate(PRESETS.http, { jobs: 1, outage }).withJitter
    expect(at(7_000)).toMatchObject({ succeeded: 1, dead: 0, attempts: 4, doneMs: 7_000 })
    expect(at(7_001)).toMatchObject({ succeeded: 0, dead: 1, deadAfterRecovery: 0, attempts: 4, doneMs: 7_000 })
  })

  it('without an outage and with room for all, every job succeeds at its first run', () => {
    const { withJitter } = simulate(standard, { jobs: 50, outage: 0 })
    expect(withJitter).toMatchObject({ succeeded: 50, attempts: 50, amplification: 1, peakPerSecond: 50, doneMs: 0 })
  })

  it('serves up to the capacity in every second, and rejects the rest', () => {
    const { withoutJitter } = simulate(PRESETS.http, { jobs: 10, outage: 0, capacityPerSecond: 3 })
    // 0 s: 3 of 10, 1 s: 3 of 7, 3 s: 3 of 4, 7 s: the last.
    expect(withoutJitter.series.attempts).toEqual([10, 7, 0, 4, 0, 0, 0, 1])
    expect(withoutJitter.series.served).toEqual([3, 3, 0, 3, 0, 0, 0, 1])
    expect(withoutJitter).toMatchObject({ succeeded: 10, turnedAway: 12, amplification: 2.2, doneMs: 7_000 })
  })

  it('ends jobs by maxElapsed', () => {
    const { withJitter } = simulate(policyOf({ ...PRESETS.http, maxElapsed: '3s' }), { jobs: 4, outage: '1m' })
    expect(withJitter).toMatchObject({ dead: 4, attempts: 12, outageSurvivedMs: 3_000 })
  })

  it('counts from each first run where jobs start at different times', () => {
    const policy = policyOf({ ...PRESETS.http, maxElapsed: '3s' })
    const { withJitter } = simulate(policy, { jobs: 4, within: '1h', outage: '2h' })
    expect(withJitter.attempts).toBe(12)
  })

  it('ends with a policy whose retries are immediate', () => {
    const hot = policyOf({ maxRetries: 1_000, backoff: { type: 'exponential', base: 0 } })
    expect(simulate(hot, { jobs: 3, outage: '1s' }).withJitter).toMatchObject({ dead: 3, attempts: 3_003, doneMs: 0 })
  })

  it('keeps its result small for any duration', () => {
    const slow = policyOf({ maxRetries: 900, backoff: { type: 'fixed', delay: '1d' }, jitter: 'full' })
    const { withJitter, withoutJitter } = simulate(slow, { jobs: 2, outage: '1800d' })
    expect(withoutJitter.series.attempts.length).toBeLessThanOrEqual(2_048)
    expect(withoutJitter.series.binMs).toBe(withJitter.series.binMs)
    expect(sum(withoutJitter.series.attempts)).toBe(1_802)
  })
})

describe('a scenario that makes no sense', () => {
  it.each([
    ['no jobs', { jobs: 0, outage: '1m' }, 'INVALID_OPTION', 'scenario.jobs: expected a whole number from 1 to'],
    ['too many jobs', { jobs: JOBS_MAX + 1, outage: '1m' }, 'INVALID_OPTION', 'scenario.jobs'],
    ['half a job', { jobs: 0.5, outage: '1m' }, 'INVALID_OPTION', 'scenario.jobs'],
    ['no outage', { jobs: 1 }, 'INVALID_OPTION', 'scenario.outage: expected a duration'],
    ['an outage without a unit', { jobs: 1, outage: '5' }, 'INVALID_DURATION', 'scenario.outage'],
    ['a negative outage', { jobs: 1, outage: -1 }, 'INVALID_DURATION', 'scenario.outage'],
    ['an outage of six years', { jobs: 1, outage: '2190d' }, 'INVALID_DURATION', 'scenario.outage'],
    ['a spread that is no time', { jobs: 1, outage: 0, within: 'soon' }, 'INVALID_DURATION', 'scenario.within'],
    ['no capacity at all', { jobs: 1, outage: 0, capacityPerSecond: 0 }, 'INVALID_OPTION', 'capacityPerSecond'],
    ['an endless one', { jobs: 1, outage: 0, capacityPerSecond: Infinity }, 'INVALID_OPTION', 'capacityPerSecond'],
    ['a negative seed', { jobs: 1, outage: 0, seed: -1 }, 'INVALID_OPTION', 'scenario.seed'],
    ['a misspelt key', { jobs: 1, outtage: '1m' }, 'INVALID_OPTION', 'did you mean "outage"?'],
    ['nothing', undefined, 'INVALID_OPTION', 'scenario: expected an object, got undefined'],
    ['null', null, 'INVALID_OPTION', 'scenario: expected an object, got null'],
  ])('is refused: %s', (_, scenario, code, words) => {
    const act = () => simulate(standard, scenario as Scenario)
    expect(act).toThrow(ChronosError)
    expect(act).toThrow(expect.objectContaining({ code, message: expect.stringContaining(words) }))
  })

  it('is refused if it would take minutes, with the largest number that is accepted', () => {
    const many = policyOf({ ...standard, maxRetries: MAX_RETRIES })
    const most = Math.floor(RUNS_MAX / (MAX_RETRIES + 1))
    expect(() => simulate(many, { jobs: most + 1, outage: 0 })).toThrow(`at most ${most} jobs of this policy`)
  })

  it('includes a backoff function that only workers have', () => {
    const custom = policyOf({ backoff: { type: 'custom', name: 'squares' }, maxRetries: 3 })
    expect(() => simulate(custom, { jobs: 1, outage: 0 })).toThrow(/"squares" is a function that only workers have/)
    expect(() => outageSurvived(custom)).toThrow(ChronosError)
  })
})

const backoffs: fc.Arbitrary<Backoff> = fc.oneof(
  fc.record({ type: fc.constant('exponential' as const), base: fc.integer({ min: 0, max: 90_000 }) }),
  fc.record({ type: fc.constant('linear' as const), base: fc.integer({ min: 0, max: 90_000 }) }),
  fc.record({ type: fc.constant('fixed' as const), delay: fc.integer({ min: 0, max: 90_000 }) }),
  fc.record({ type: fc.constant('fibonacci' as const), base: fc.integer({ min: 0, max: 90_000 }) }),
  fc.record({
    type: fc.constant('list' as const),
    delays: fc.array(fc.integer({ min: 0, max: 90_000 }), { minLength: 1, maxLength: 8 }),
    afterEnd: fc.constantFrom('stop' as const, 'repeat-last' as const),
  }),
)
const jitters: fc.Arbitrary<Jitter> = fc.oneof(
  fc.constantFrom('none' as const, 'full' as const, 'equal' as const, 'decorrelated' as const),
  fc.double({ min: 0, max: 1, noNaN: true }),
)
const policies: fc.Arbitrary<Policy> = fc.record(
  {
    maxRetries: fc.integer({ min: 0, max: 12 }),
    backoff: backoffs,
    jitter: jitters,
    cap: fc.integer({ min: 1, max: 600_000 }),
    maxElapsed: fc.integer({ min: 0, max: 1_200_000 }),
  },
  { requiredKeys: ['maxRetries', 'backoff', 'jitter'] },
)
const scenarios: fc.Arbitrary<Scenario> = fc.record(
  {
    jobs: fc.integer({ min: 1, max: 60 }),
    within: fc.integer({ min: 0, max: 20_000 }),
    outage: fc.integer({ min: 0, max: 900_000 }),
    capacityPerSecond: fc.integer({ min: 1, max: 30 }),
    seed: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  },
  { requiredKeys: ['jobs', 'outage'] },
)

describe('for any policy and scenario', () => {
  it('no job is lost, and every attempt is counted once everywhere', () => {
    fc.assert(
      fc.property(policies, scenarios, (policy, scenario) => {
        const { withJitter, withoutJitter } = simulate(policy, scenario)
        for (const herd of [withJitter, withoutJitter]) {
          const { succeeded, dead, attempts, series, waves } = herd
          expect(succeeded + dead).toBe(scenario.jobs)
          expect(attempts).toBeGreaterThanOrEqual(scenario.jobs)
          expect(attempts).toBeLessThanOrEqual(scenario.jobs * (policy.maxRetries + 1))
          expect(sum(series.attempts)).toBe(attempts)
          expect(sum(series.served)).toBe(succeeded)
          expect(sum(waves.map(wave => wave.attempts))).toBe(attempts)
          expect(waves[0]!.attempts).toBe(scenario.jobs)
          expect(herd.peakPerSecond).toBeLessThanOrEqual(Math.max(...series.peaks))
          expect(Math.max(...series.served)).toBeLessThanOrEqual(
            (scenario.capacityPerSecond ?? scenario.jobs) * (series.binMs / 1_000),
          )
          expect(Math.floor(herd.doneMs / series.binMs)).toBe(series.attempts.length - 1)
        }
      }),
      { numRuns: 80 },
    )
  })

  it('every retry falls into the window that preview shows', () => {
    fc.assert(
      fc.property(policies, scenarios, (policy, scenario) => {
        const rows = preview(policy)
        const { waves } = simulate(policy, { ...scenario, within: 0 }).withJitter
        expect(waves.length - 1).toBeLessThanOrEqual(rows.length)
        for (const { retry, fromMs, toMs: lastMs } of waves.slice(1)) {
          const [min, max] = rows[retry - 1]!.totalMs
          expect(fromMs).toBeGreaterThanOrEqual(min)
          expect(lastMs).toBeLessThanOrEqual(max)
        }
      }),
      { numRuns: 80 },
    )
  })

  it('a course equals the decisions for the same draws, retry by retry', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (policy, seed) => {
        const course = new Course(policy, 1, seed)
        // A second course with the same seed passes its draws to decide.
        const twin = new Course(
          { maxRetries: 100, backoff: { type: 'fixed', delay: 2 ** 32 - 1 }, jitter: 'full' },
          1,
          seed,
        )
        const random = () => twin.next(0, 1, 0, 0)! / 2 ** 32
        let [atMs, backoffMs] = [0, undefined as number | undefined]
        for (let attempt = 1; attempt <= policy.maxRetries + 2; attempt++) {
          const next = course.next(0, attempt, atMs, 0)
          const job = { ...RUNNING, policy, attempt, ...(backoffMs !== undefined && { backoffMs }) }
          const transition = decide(job, FAILED, atMs, random)
          expect(next).toBe(transition.to === 'waiting' ? atMs + transition.delayMs : null)
          if (next === null) return
          atMs = next
          backoffMs = transition.backoffMs
        }
      }),
      { numRuns: 300 },
    )
  })
})

const FAILED = {
  kind: 'failed',
  error: { name: 'Error', message: 'boom' },
  classification: { kind: 'transient', rule: 'default' },
} as const

const RUNNING: Omit<JobFacts, 'policy' | 'attempt'> = {
  delivery: 'at-least-once',
  firstStartedAt: 0,
  begun: true,
  cancelRequested: false,
  suspect: false,
  snoozes: 0,
  releases: 0,
  losses: 0,
  strikes: 0,
}

describe('the parts', () => {
  it('due jobs come out in order of their times', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 100 }), times => {
        const due = new DueJobs(times.length)
        times.forEach((time, job) => {
          due.put(job, time)
        })
        const taken = times.map(() => {
          const at = due.nextMs
          const job = due.take()
          expect(times[job]).toBe(at)
          return at
        })
        expect(taken).toEqual([...times].sort((a, b) => a - b))
        expect(due.size).toBe(0)
      }),
    )
  })

  it('a long series joins its bins and loses no attempt', () => {
    const recorder = new SeriesRecorder()
    recorder.add(0, 5, 1)
    recorder.add(1, 7, 2)
    recorder.add(3_000, 1, 1)
    expect(recorder.binMs).toBe(2_000)
    const { binMs, attempts, served, peaks } = recorder.series(4_000)
    expect(binMs).toBe(4_000)
    expect(attempts).toHaveLength(751)
    expect([attempts[0], served[0], peaks[0], attempts[750]]).toEqual([12, 3, 7, 1])
  })

  it('courses of different jobs are independent', () => {
    const [one, both] = [new Course(standard, 2, 5), new Course(standard, 2, 5)]
    both.next(0, 1, 0, 0)
    expect(both.next(1, 1, 0, 0)).toBe(one.next(1, 1, 0, 0))
    expect(toMs('48s', 'least')).toBeLessThanOrEqual(one.next(0, 1, 0, 0)!)
  })
})

describe('limits', () => {
  const once = policyOf({ maxRetries: 0 })
  const alone = (policy: Policy, scenario: Scenario): SimulatedHerd => simulate(policy, scenario).withJitter

  it('start what the rate of the queue allows, so that the dependency rejects nothing', () => {
    const burst: Scenario = { jobs: 1_000, outage: 0, capacityPerSecond: 20 }
    expect(alone(once, burst)).toMatchObject({ succeeded: 20, dead: 980, heldBack: 0, longestWaitMs: 0 })
    const herd = alone(once, { ...burst, limit: { rate: '20/s', burst: 1 } })
    expect(herd).toMatchObject({ succeeded: 1_000, dead: 0, turnedAway: 0, peakPerSecond: 20, heldBack: 999 })
    expect(herd.longestWaitMs).toBe(49_950)
    expect(herd.series.attempts.slice(0, 50)).toEqual(Array(50).fill(20))
  })

  it('exceed a rate by its burst in no window', () => {
    const { series } = alone(once, { jobs: 600, outage: 0, limit: { rate: '60/m', burst: 10 } })
    expect(series.attempts[0]).toBe(10)
    expect(Math.max(...series.attempts.slice(1))).toBe(1)
    expect(sum(series.attempts)).toBe(600)
  })

  it('run as many attempts at the same time as the concurrency of the queue allows', () => {
    const herd = alone(once, { jobs: 100, outage: 0, takes: '2s', limit: { concurrency: 10 } })
    expect(herd.series.attempts).toEqual(Array.from({ length: 19 }, (_, second) => (second % 2 === 0 ? 10 : 0)))
    expect(herd.doneMs).toBe(20_000)
  })

  it('apply to each partition, and to the queue around them', () => {
    const spread: Scenario = { jobs: 100, outage: 0, takes: '1s', partitions: { count: 5, concurrency: 2 } }
    expect(alone(once, spread)).toMatchObject({ doneMs: 10_000, longestWaitMs: 9_000 })
    expect(alone(once, { ...spread, limit: { concurrency: 4 } })).toMatchObject({ doneMs: 25_000 })
    expect(alone(once, { ...spread, partitions: { count: 5, rate: '1/s' } })).toMatchObject({ doneMs: 20_000 })
  })

  it('let partitions take turns when the queue is the bound', () => {
    const scenario: Scenario = { jobs: 30, outage: 0, limit: { rate: '3/s', burst: 1 }, partitions: { count: 3 } }
    // Job n belongs to partition n modulo 3, so the order of the turns is the order of the jobs.
    expect(alone(once, scenario)).toMatchObject({ doneMs: 9_667, heldBack: 29 })
  })

  it('count retries as starts, and let backoffs begin with the end of an attempt', () => {
    const policy = policyOf({ maxRetries: 1, backoff: { type: 'fixed', delay: '10s' }, jitter: 'none' })
    const herd = alone(policy, { jobs: 2, outage: '5s', takes: '3s', limit: { rate: '1/s', burst: 1 } })
    expect(herd).toMatchObject({ attempts: 4, succeeded: 2, doneMs: 17_000 })
    expect(herd.waves[1]).toMatchObject({ fromMs: 13_000, toMs: 14_000 })
  })

  it('change nothing where they never apply', () => {
    const scenario: Scenario = { jobs: 500, within: '10s', outage: '2m', capacityPerSecond: 30 }
    const wide = { ...scenario, limit: { rate: '100000/s' as const, burst: 1_000_000 } }
    expect(simulate(standard, wide).withJitter).toEqual(simulate(standard, scenario).withJitter)
  })

  it('are simulated for whatever an enqueue accepts as its policy', () => {
    const scenario: Scenario = { jobs: 40, outage: '10s', limit: { rate: '2/s' } }
    expect(simulateInput('financial', scenario)).toEqual(simulate(PRESETS.financial, scenario))
  })

  it('are part of the scenario that is returned', () => {
    const given = { limit: { rate: '5/s' }, partitions: { count: 3, concurrency: 1 } } as const
    expect(simulate(once, { jobs: 1, outage: 0, takes: '1s', ...given }).scenario).toMatchObject({
      takesMs: 1_000,
      ...given,
    })
    expect(simulate(once, { jobs: 1, outage: 0 }).scenario).not.toHaveProperty('limit')
  })

  it('are refused with a sentence if they are wrong', () => {
    const wrong = (scenario: object) => () => simulate(once, { jobs: 1, outage: 0, ...scenario })
    expect(wrong({ limit: { rate: 'fast' } })).toThrow('scenario.limit.rate: expected a rate above 0')
    expect(wrong({ limit: { burst: 3 } })).toThrow('burst needs a rate')
    expect(wrong({ partitions: { concurrency: 3 } })).toThrow('scenario.partitions.count')
  })
})
