import type { Io } from '../io.js'
import { bar } from './bar.js'
import { type Style, styleOf } from './print.js'
import { countText } from './show.js'

const BAR_COLUMNS = 30
/** Shorter work needs no bar. */
const SHOWN_FROM = 100

/** A progress bar on stderr, only on a terminal, cleared at the end. */
export class Progress {
  readonly #io: Io
  readonly #style: Style
  readonly #whole: number
  readonly #done: string
  readonly #isShown: boolean
  #count = 0
  #isDrawn = false

  /** `done` is a past participle, as in `1,200 of 3,000 deleted`. */
  constructor(io: Io, whole: number, done: string) {
    this.#io = io
    this.#style = styleOf(io.stderr, io.env)
    this.#whole = whole
    this.#done = done
    this.#isShown = io.stderr.isTTY === true && whole >= SHOWN_FROM
  }

  add(count: number): void {
    this.#count += count
    if (!this.#isShown || count === 0) return
    const part = { value: this.#count, symbol: '█', ascii: '#', tone: 'good' } as const
    const drawn = bar([part], Math.max(this.#whole, this.#count), BAR_COLUMNS, this.#style)
    this.#io.stderr.write(`\r\u001b[K${drawn} ${countText(this.#count)} of ${countText(this.#whole)} ${this.#done}`)
    this.#isDrawn = true
  }

  end(): void {
    if (this.#isDrawn) this.#io.stderr.write('\r\u001b[K')
    this.#isDrawn = false
  }
}
