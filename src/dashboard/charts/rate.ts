/** The value of a counter at a moment. */
export interface RateSample {
  /** Epoch milliseconds. */
  readonly at: number
  readonly started: number
  readonly succeeded: number
  readonly dead: number
}

/** The rate per second between consecutive samples. A counter that went back yields no rate. */
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
