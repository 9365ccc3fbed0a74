import type { Clock } from '../../core/values/clock.js'

interface Pending<Item, Answer> {
  readonly item: Item
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Sends calls together: at once when idle, in batches while one is running. Each promise resolves with its own answer,
 * after the commit.
 */
export class Batcher<Item, Answer> {
  readonly #clock: Clock
  readonly #limit: number
  readonly #send: (items: Item[]) => Promise<readonly Answer[]>
  #waiting: Pending<Item, Answer>[] = []
  #busy = false

  constructor(clock: Clock, limit: number, send: (items: Item[]) => Promise<readonly Answer[]>) {
    this.#clock = clock
    this.#limit = limit
    this.#send = send
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#busy) return
    this.#busy = true
    this.#clock.soon(() => void this.#flush())
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.length > this.#limit ? this.#waiting.splice(0, this.#limit) : this.#waiting
    if (batch === this.#waiting) this.#waiting = []
    try {
      const answers = await this.#send(batch.map(pending => pending.item))
      for (const [index, pending] of batch.entries()) pending.resolve(answers[index]!)
    } catch (error) {
      for (const pending of batch) pending.reject(error)
    }
    this.#busy = false
    if (this.#waiting.length > 0) this.#schedule()
  }
}
