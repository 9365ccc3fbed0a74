/** What a counter was at a moment. */
export interface RateSample {
  /** Epoch milliseconds. */
  readonly at: number
  readonly started: number
  readonly succeeded: number
  readonly dead: number
}

/** How much per second between each two that were seen; where a counter went back, nothing is known. */
export function ratesOf(samples: readonly RateSample[]): readonly RateSample[] {
  return samples.slice(1).map((sample, i) => {
    const before = samples[i]!
    const seconds = Math.max(0.001, (sample.at - before.at) / 1_000)
    const rate = (now: number, then: number): number => Math.max(0, Math.round(((now - then) / seconds) * 10) / 10)
    return {
      at: sample.at,
      started: rate(sample.started, before.started),
      succeeded: rate(sample.succeeded, before.succeeded),
      dead: rate(sample.dead, before.dead),
    }
  })
}
