/** Reproducible random numbers: the same seed gives the same numbers, 0 ≤ u < 1, on every machine (Mulberry32). */
export function seededRandom(seed: number): () => number {
  const streams = new SeededStreams(1, () => seed)
  return () => streams.draw(0)
}

/** Independent streams: the numbers of one do not depend on how many the others draw. */
export class SeededStreams {
  readonly #states: Uint32Array

  constructor(count: number, seedOf: (stream: number) => number) {
    this.#states = new Uint32Array(count)
    for (let stream = 0; stream < count; stream++) this.#states[stream] = seedOf(stream)
  }

  draw(stream: number): number {
    const state = (this.#states[stream]! + 0x6d2b79f5) >>> 0
    this.#states[stream] = state
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
