/** Limits how many requests of a kind are open at the same time. */
export class Slots {
  readonly #max: number
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Returns a function that frees the slot, or undefined if all are taken. */
  take(): (() => void) | undefined {
    if (this.#taken >= this.#max) return undefined
    this.#taken++
    let isFree = false
    return () => {
      if (isFree) return
      isFree = true
      this.#taken--
    }
  }
}
