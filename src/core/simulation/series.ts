import { about, type Infer, integer, number } from '../values/schema.js'
import { listOf, view } from '../values/shape.js'

const SECOND_MS = 1_000
const BINS_MAX = 2_048

/** Attempts over time; bin i begins at i · binMs. */
export const series = view({
  binMs: number(),
  attempts: listOf(integer()),
  served: about(listOf(integer()), 'The attempts that succeeded.'),
  peaks: about(listOf(integer()), 'The most attempts in any one second of the bin.'),
})
export type Series = Infer<typeof series>

/**
 * Counts attempts per second in a bounded number of bins: when the time exceeds them, every two bins become one.
 * Seconds must come in order.
 */
export class SeriesRecorder {
  readonly #attempts = new Float64Array(BINS_MAX)
  readonly #served = new Float64Array(BINS_MAX)
  readonly #peaks = new Float64Array(BINS_MAX)
  #binSeconds = 1
  #used = 0

  get binMs(): number {
    return this.#binSeconds * SECOND_MS
  }

  add(second: number, attempts: number, served: number): void {
    while (second >= BINS_MAX * this.#binSeconds) this.#halve()
    const bin = Math.floor(second / this.#binSeconds)
    this.#attempts[bin]! += attempts
    this.#served[bin]! += served
    this.#peaks[bin] = Math.max(this.#peaks[bin]!, attempts)
    this.#used = bin + 1
  }

  /** Makes bins at least this long, so that two series can be compared in one chart. */
  series(binMs: number): Series {
    while (this.binMs < binMs) this.#halve()
    const part = (counts: Float64Array): readonly number[] => Array.from(counts.subarray(0, this.#used))
    return {
      binMs: this.binMs,
      attempts: part(this.#attempts),
      served: part(this.#served),
      peaks: part(this.#peaks),
    }
  }

  #halve(): void {
    merge(this.#attempts, (a, b) => a + b)
    merge(this.#served, (a, b) => a + b)
    merge(this.#peaks, Math.max)
    this.#binSeconds *= 2
    this.#used = Math.ceil(this.#used / 2)
  }
}

function merge(counts: Float64Array, join: (a: number, b: number) => number): void {
  const half = counts.length / 2
  for (let i = 0; i < half; i++) counts[i] = join(counts[2 * i]!, counts[2 * i + 1]!)
  counts.fill(0, half)
}
