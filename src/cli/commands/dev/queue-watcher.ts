import type { Clock, Timer } from '../../../core/values/clock.js'
import type { JobDefinition } from '../../../engine/client/definition.js'
import type { Service } from '../../service/service.js'

const LOOK_MS = 1_000
const QUEUES_MAX = 100
/** Webhook deliveries have their own workers. */
const OWN = /^chronos:/

/** Starts a worker for each new queue, so that no job waits in a queue without one. */
export class QueueWatcher {
  readonly #service: Service
  readonly #definitions: readonly JobDefinition<never>[]
  readonly #served: Set<string>
  readonly #clock: Clock
  #timer: Timer | undefined
  #isOver = false

  constructor(service: Service, definitions: readonly JobDefinition<never>[], served: readonly string[], clock: Clock) {
    this.#service = service
    this.#definitions = definitions
    this.#served = new Set(served)
    this.#clock = clock
  }

  begin(): void {
    void this.look()
      .catch(() => undefined)
      .then(() => {
        if (!this.#isOver) this.#timer = this.#clock.timer(LOOK_MS, () => this.begin())
      })
  }

  end(): void {
    this.#isOver = true
    this.#timer?.cancel()
  }

  async look(): Promise<void> {
    const queues = await this.#service.chronos.queues.list()
    const fresh = queues.map(({ name }) => name).filter(name => !this.#served.has(name) && !OWN.test(name))
    if (this.#isOver) return
    for (const name of fresh.slice(0, QUEUES_MAX - this.#served.size)) {
      this.#service.work(this.#definitions, [name])
      this.#served.add(name)
    }
  }
}
