import { describe, expect, it } from 'vitest'
import { exponential, fixed, list, type PolicyInput, preview } from '../../../src/index.js'

describe('preview accepts whatever an enqueue accepts as retry', () => {
  const inputs: readonly [PolicyInput, readonly (readonly [lo: number, hi: number])[]][] = [
    [
      exponential({ base: '1s', cap: '1m', maxRetries: 2, jitter: 'none' }),
      [
        [1_000, 1_000],
        [2_000, 2_000],
      ],
    ],
    [fixed({ delay: '10s', maxRetries: 1 }), [[8_000, 12_000]]],
    [
      list(['30s', '60s']),
      [
        [30_000, 30_000],
        [60_000, 60_000],
      ],
    ],
    [
      'lowLatency',
      [
        [0, 100],
        [0, 200],
      ],
    ],
    [{ maxRetries: 1 }, [[48_000, 72_000]]],
    [{ maxRetries: 1, retryDelay: 30_000, useExponentialBackoff: true }, [[24_000, 36_000]]],
    [{ maxRetries: 1, baseRetryDelay: 5_000, jitterEnabled: false }, [[5_000, 5_000]]],
    ['none', []],
  ]
  it.each(inputs)('%j', (input, windows) => {
    expect(preview(input).map(row => row.window)).toEqual(windows)
  })

  it('refuses what an enqueue refuses, with the same words', () => {
    expect(() => preview({ maxRetry: 3 } as object)).toThrow(
      'policy: unknown key "maxRetry"; did you mean "maxRetries"?',
    )
    expect(() => preview('finacial' as 'financial')).toThrow(
      'policy: unknown preset "finacial"; did you mean "financial"?',
    )
  })
})
