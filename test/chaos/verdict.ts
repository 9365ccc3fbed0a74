const EXAMPLES_MAX = 5

/** The promises that the checker tests. Each is a row in docs/reliability.md. */
export const PROMISES = [
  'an acknowledged job is never lost',
  'no job exists that no client asked for',
  'a call reported as not done had no effect',
  'a key is one job, per tenant',
  'every run has one row, numbered without gaps',
  'each run has one lease holder',
  'a handler starts at most maxRetries + 1 times',
  'an at-most-once handler starts at most once',
  'a completed job never runs again',
  'rows agree with what the handlers did',
  'an effect is remembered once recorded',
  'each occurrence of a schedule makes one job',
  'each end of a job sends one webhook message',
  'only a redrive starts a job that has ended',
  'everything ends once the faults are over',
  'the integrity check is sound',
  'a stop is clean',
  'a limit is never exceeded',
  'a rate is never exceeded, and is used',
  'a partition keeps its order',
  'no partition with waiting jobs is passed over',
  'a poison job harms no other job',
  'memory and descriptors stay within their bounds',
  'requests are answered within their bounds',
  'the scenario runs to its end',
] as const

export type Promised = (typeof PROMISES)[number]

/** What a scenario found: broken promises with examples, and how often each event happened. */
export class Verdict {
  readonly #broken = new Map<Promised, string[]>()
  readonly counts: Record<string, number> = {}

  broken(promise: Promised, example: string): void {
    const examples = this.#broken.get(promise) ?? []
    examples.push(example)
    this.#broken.set(promise, examples)
  }

  expect(holds: boolean, promise: Promised, example: () => string): void {
    if (!holds) this.broken(promise, example())
  }

  count(what: string, by = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + by
  }

  /** A line for each broken promise, with some examples. */
  get violations(): readonly string[] {
    return [...this.#broken].map(([promise, examples]) => {
      const more = examples.length > EXAMPLES_MAX ? `; and ${examples.length - EXAMPLES_MAX} more` : ''
      return `${promise}: ${examples.slice(0, EXAMPLES_MAX).join('; ')}${more}`
    })
  }
}
