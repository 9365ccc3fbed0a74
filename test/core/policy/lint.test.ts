import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FindingCode, lintPolicy } from '../../../src/core/policy/lint.js'
import { mergePolicies, type Policy, parsePolicy } from '../../../src/core/policy/policy.js'
import { PRESETS, type PresetName } from '../../../src/core/policy/presets.js'

/** A policy without findings: an hour of retries, equal jitter, a cap that is reached exactly. */
const SOUND: Policy = {
  maxRetries: 8,
  backoff: { type: 'exponential', base: '1m' },
  jitter: 'equal',
  cap: '128m',
}

const of = (change: object): Policy => mergePolicies(parsePolicy({ ...SOUND, ...change }, 'policy'))
const codes = (policy: Policy): readonly FindingCode[] => lintPolicy(policy).map(({ code }) => code)

describe('lint', () => {
  it('finds nothing in a sound policy', () => {
    expect(lintPolicy(SOUND)).toEqual([])
  })

  it.each<[PresetName, readonly FindingCode[]]>([
    ['standard', ['cap-never-reached']],
    ['http', ['no-jitter', 'short-window', 'cap-never-reached']],
    ['lowLatency', ['short-window', 'full-jitter-halves', 'cap-never-reached']],
    ['financial', ['short-window', 'full-jitter-halves', 'cap-never-reached']],
    ['queue', ['short-window', 'full-jitter-halves', 'cap-never-reached']],
    ['webhook', ['no-jitter', 'delivery-window']],
    ['patient', ['cap-reached']],
    ['none', ['no-retries']],
  ])('says about the preset %s: %j', (name, found) => {
    expect(codes(PRESETS[name])).toEqual(found)
  })

  it.each<[FindingCode, 'note' | 'warning', object, string]>([
    ['no-retries', 'note', { maxRetries: 0 }, 'the first failure is the last'],
    ['no-jitter', 'warning', { jitter: 'none' }, '±20 % would spread the first retry over 24s.'],
    ['no-jitter', 'warning', { jitter: 0 }, 'come back together'],
    ['narrow-jitter', 'note', { jitter: 0.05 }, '±5 % spreads the first retries over only 6s.'],
    ['full-jitter-halves', 'note', { jitter: 'full' }, 'the waits come to 2h 8m on average, not 4h 15m'],
    ['decorrelated-wanders', 'note', { jitter: 'decorrelated' }, 'between 8m and 10h 32m after the first failure'],
    [
      'factor-ignored',
      'note',
      { jitter: 'decorrelated', backoff: { type: 'exponential', base: '1m', factor: 5 } },
      'The factor of 5 has no effect',
    ],
    ['factor-one', 'note', { backoff: { type: 'exponential', base: '10m', factor: 1 } }, 'every retry waits 10m'],
    [
      'hot-loop',
      'warning',
      { backoff: { type: 'exponential', base: 0 } },
      '8 retries, the first being retry 1, would run at once',
    ],
    [
      'hot-loop',
      'warning',
      { backoff: { type: 'exponential', base: 5, factor: 60 } },
      'Retry 1 would run after 5ms or less',
    ],
    ['cap-reached', 'note', { cap: '30m' }, 'at retry 6 of 8: the last 3 retries wait 30m instead of longer'],
    ['cap-reached', 'note', { cap: '2h' }, 'at retry 8 of 8: the last retry waits 2h'],
    ['cap-never-reached', 'note', { cap: '1d' }, 'the longest delay is 2h 8m. It would take 12 retries to get there.'],
    [
      'cap-never-reached',
      'note',
      { cap: '1d', backoff: { type: 'exponential', base: '10m', factor: 1 } },
      'The cap of 1d is never reached: the longest delay is 10m.',
    ],
    ['cap-flattens', 'warning', { cap: '50s' }, 'The cap of 50s is below the first delay'],
    ['cap-flattens', 'warning', { cap: '50s', backoff: { type: 'fixed', delay: '1h' } }, 'or shorten the delay'],
    [
      'max-elapsed-cuts',
      'warning',
      { maxElapsed: '1h' },
      'Retries 7 to 8 never happen: maxElapsed of 1h ends the job before, since retry 7 could run after 1h 4m at the earliest.',
    ],
    ['max-elapsed-cuts', 'warning', { maxElapsed: '2h' }, 'Retry 8 never happens'],
    ['max-elapsed-may-cut', 'note', { maxElapsed: '3h' }, 'Retry 8 may not happen: it may fall due as late as 4h 15m'],
    [
      'max-elapsed-unused',
      'note',
      { maxElapsed: '5h' },
      'maxElapsed of 5h ends nothing: the last retry runs after 4h 15m',
    ],
    [
      'list-repeats',
      'note',
      { backoff: { type: 'list', delays: ['1m', '10m', '1h'], afterEnd: 'repeat-last' } },
      'The list has 3 delays for 8 retries: from retry 4 on its last, 1h, repeats.',
    ],
    [
      'list-unused',
      'warning',
      { maxRetries: 2, backoff: { type: 'list', delays: ['1m', '10m', '1h'] } },
      'maxRetries of 2 uses only the first 2',
    ],
    [
      'delivery-window',
      'note',
      { maxRetries: 2, jitter: 'none', backoff: { type: 'list', delays: ['1m', '10m'] } },
      'The delays are over after 11m.',
    ],
    [
      'short-window',
      'warning',
      { maxRetries: 1, backoff: { type: 'fixed', delay: '20s' } },
      'kills all jobs that meet it',
    ],
    [
      'short-window',
      'note',
      { maxRetries: 2, backoff: { type: 'fixed', delay: '3m' } },
      'kills many of the jobs that meet it',
    ],
    [
      'long-window',
      'note',
      { maxRetries: 20, backoff: { type: 'fixed', delay: '12h' }, cap: '12h' },
      'may run 10d after',
    ],
    [
      'long-window',
      'warning',
      { maxRetries: 40, backoff: { type: 'fixed', delay: '1d' }, cap: '1d' },
      'may run 40d after',
    ],
    ['many-runs', 'note', { maxRetries: 100 }, 'A job may run 101 times'],
    ['dependencies-left-out', 'note', { circuit: true }, 'show the policy without'],
    ['dependencies-left-out', 'note', { budget: true }, 'wait for more than their delay'],
    ['retry-after-off', 'note', { retryAfter: false }, 'Retry-After is ignored'],
    [
      'custom-backoff',
      'note',
      { backoff: { type: 'custom', name: 'squares' } },
      'function "squares" decides every delay',
    ],
  ])('%s (%s) for %j', (code, severity, change, words) => {
    const found = lintPolicy(of(change)).find(finding => finding.code === code)
    expect(found).toMatchObject({ severity, message: expect.stringContaining(words) })
  })

  it('puts warnings first', () => {
    const severities = lintPolicy(of({ jitter: 'none', maxElapsed: '1h', retryAfter: false })).map(
      each => each.severity,
    )
    expect(severities).toEqual(['warning', 'warning', 'note'])
  })

  it('does not count runs that maxElapsed forbids', () => {
    expect(codes(of({ maxRetries: 100, maxElapsed: '12h' }))).not.toContain('many-runs')
    expect(codes(of({ maxRetries: 100, maxElapsed: '12h' }))).not.toContain('long-window')
  })

  it('leaves invalid input to parsePolicy', () => {
    expect(() => of({ maxRetries: 1_001 })).toThrow('maxRetries: expected a whole number from 0 to 1000')
    expect(() => of({ maxRetries: Number.POSITIVE_INFINITY })).toThrow('maxRetries')
  })

  it('has a sentence for every policy', () => {
    const policies = fc.record({
      maxRetries: fc.integer({ min: 0, max: 12 }),
      jitter: fc.constantFrom('none', 'full', 'equal', 0.01, 0.5, 1),
      cap: fc.integer({ min: 0, max: 10_000_000 }),
      maxElapsed: fc.integer({ min: 0, max: 10_000_000 }),
      backoff: fc.oneof(
        fc.record({
          type: fc.constant('exponential'),
          base: fc.integer({ min: 0, max: 1e6 }),
          factor: fc.double({ min: 1, max: 10, noNaN: true }),
        }),
        fc.record({
          type: fc.constant('linear'),
          base: fc.integer({ min: 0, max: 1e6 }),
          increment: fc.integer({ min: 0, max: 1e6 }),
        }),
        fc.record({ type: fc.constant('fibonacci'), base: fc.integer({ min: 0, max: 1e6 }) }),
        fc.record({ type: fc.constant('fixed'), delay: fc.integer({ min: 0, max: 1e6 }) }),
      ),
    })
    fc.assert(
      fc.property(policies, policy => {
        for (const { message } of lintPolicy(mergePolicies(parsePolicy(policy, 'policy')))) {
          expect(message).toMatch(/^[A-Z±\dm].*\.$/)
          expect(message).not.toMatch(/NaN|undefined|Infinity|unknown|for ever/)
        }
      }),
      { numRuns: 40 },
    )
  })
})
