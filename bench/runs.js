/** Counts the runs of handlers up to an expected number. */
export class Runs {
  started = 0
  #expected
  /** @type {() => void} */
  #finish = () => {}
  /** Resolves when all of them have started. */
  all = new Promise(resolve => {
    this.#finish = () => resolve(undefined)
  })

  /** @param {number} expected */
  constructor(expected) {
    this.#expected = expected
  }

  add(count = 1) {
    this.started += count
    if (this.started === this.#expected) this.#finish()
    if (this.started > this.#expected) throw new Error(`expected ${this.#expected} runs, got one more`)
  }
}

/**
 * So many calls, a number of them at any time.
 *
 * @param {number} count
 * @param {number} inFlight
 * @param {(n: number) => Promise<unknown>} call
 */
export async function together(count, inFlight, call) {
  let next = 0
  async function caller() {
    while (next < count) await call(next++)
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
}
