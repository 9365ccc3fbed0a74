import type { Clock, Timer } from '../../../src/core/values/clock.js'
import type { Chance } from './chance.js'
import type { Timeline } from './timeline.js'

type Source = 'timer' | 'answer'

interface Withheld {
  readonly source: Source
  readonly run: () => void
}

/**
 * The environment of a simulated process. Its code runs only when its clock or the store calls it back, so withholding
 * those calls pauses the process, and dropping them kills it.
 */
export class Host {
  readonly name: string
  readonly clock: Clock
  readonly bornAt: number
  goneAt: number | undefined
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
      steady: () => timeline.now() - this.bornAt,
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

  /** Kills the process: nothing reaches it any more, and its remaining code has no effect. */
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

  /**
   * Resumes a zombie: everything that was due in the meantime happens now, in one of the orders that a kernel may
   * choose.
   */
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
    this.goneAt ??= this.#timeline.now()
    this.#withheld = []
  }

  /** Sets its clock forward. */
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
