import type { Clock, Timer } from '../../src/core/values/clock.js'
import type { Chance } from './chance.js'
import type { Timeline } from './timeline.js'

type Source = 'timer' | 'answer'

interface Withheld {
  readonly source: Source
  readonly run: () => void
}

/**
 * What a simulated process runs in. Its code only ever runs because its clock or the store calls it back, so that
 * withholding those calls is a process that stands still, and dropping them is one that was killed.
 */
export class Host {
  readonly name: string
  readonly clock: Clock
  readonly bornAt: number
  #life: 'up' | 'paused' | 'gone' = 'up'
  #withheld: Withheld[] = []
  #skewMs: number
  readonly #timeline: Timeline

  constructor(timeline: Timeline, name: string, skewMs: number) {
    this.#timeline = timeline
    this.name = name
    this.#skewMs = skewMs
    this.bornAt = timeline.now()
    this.clock = {
      now: () => timeline.now() + this.#skewMs,
      timer: (ms, run) => this.#timer(ms, run),
      soon: run => this.#timer(0, run),
    }
  }

  get isUp(): boolean {
    return this.#life === 'up'
  }

  get isPaused(): boolean {
    return this.#life === 'paused'
  }

  /** Killed: nothing reaches it any more, and nothing that it still does has an effect. */
  get isGone(): boolean {
    return this.#life === 'gone'
  }

  deliver(source: Source, run: () => void): void {
    if (this.isUp) run()
    else if (this.isPaused) this.#withheld.push({ source, run })
  }

  pause(): void {
    if (this.isUp) this.#life = 'paused'
  }

  /** A zombie: everything that should have happened meanwhile happens now, in one of the orders a kernel may choose. */
  resume(chance: Chance): void {
    if (!this.isPaused) return
    this.#life = 'up'
    const first = chance.pick<Source | undefined>(['timer', 'answer', undefined])
    const rank = ({ source }: Withheld): number => (source === first ? 0 : 1)
    const all = this.#withheld.sort((a, b) => (first === undefined ? 0 : rank(a) - rank(b)))
    this.#withheld = []
    for (const { source, run } of all) this.#timeline.soon(() => this.deliver(source, run))
  }

  crash(): void {
    this.#life = 'gone'
    this.#withheld = []
  }

  /** Its clock is set forward. */
  jump(ms: number): void {
    this.#skewMs += ms
  }

  #timer(ms: number, run: () => void): Timer {
    let live = true
    const fire = (): void => {
      if (live) run()
    }
    const isOff = (): boolean => !live || this.isGone
    this.#timeline.at(this.#timeline.now() + ms, () => this.deliver('timer', fire), isOff)
    return {
      cancel: () => {
        live = false
      },
    }
  }
}
