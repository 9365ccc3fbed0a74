import { describe, expect, it } from 'vitest'
import { ruleNamed } from '../../../src/core/alert/rules.js'

describe('the words of an alert', () => {
  it('have thousands separators and a singular', () => {
    const counts = { first: 1_882, retry: 2_898, measured: 1_234, latencyMs: 1_234_000, exhausted: 1_500 }
    const facts = { since: 0, queues: new Map([['mail', counts]]) }
    const said = (['retry-rate', 'retry-latency', 'exhausted-burst'] as const).map(
      name => ruleNamed(name).readings(facts as never, {} as never, 300_000)[0]?.summary,
    )
    expect(said).toEqual([
      expect.stringMatching(/: 2,898 retries to 1,882 first attempts in the last 5m$/),
      expect.stringMatching(/ the mean of 1,234 in the last 5m$/),
      '1,500 jobs of queue mail ran out of retries in the last 5m',
    ])
    const dead = (letters: number, isCapped: boolean) =>
      ruleNamed('dead-letters').readings(
        [{ queue: 'mail', isPaused: false, isServed: true, dead: letters, isCapped, deadSince: 0 }] as never,
        {} as never,
        1_000,
      )[0]?.summary
    expect([dead(5_000, true), dead(1, false)]).toEqual([
      'at least 5,000 unacknowledged dead letters in queue mail, the oldest for 1s',
      '1 unacknowledged dead letter in queue mail, the oldest for 1s',
    ])
  })
})
