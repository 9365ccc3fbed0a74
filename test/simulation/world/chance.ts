import { seededDice } from '../../../src/engine/time/virtual.js'

/** One random stream of a seed. Streams are independent: one more draw from one changes nothing in another. */
export class Chance {
  readonly #random: () => number

  constructor(seed: number, stream: number) {
    this.#random = seededDice(Math.imul(seed ^ Math.imul(stream + 1, 0x9e3779b1), 0x85ebca6b)).random
  }

  is(probability: number): boolean {
    return this.#random() < probability
  }

  /** A whole number, both ends included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1))
  }

  share(from: number, to: number): number {
    return from + this.#random() * (to - from)
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)]!
  }

  shuffled<T>(list: readonly T[]): T[] {
    const left = [...list]
    return list.map(() => left.splice(this.between(0, left.length - 1), 1)[0]!)
  }
}
