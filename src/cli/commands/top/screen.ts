import type { Clock, Timer } from '../../../core/values/clock.js'
import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import type { Backend } from '../../backend/backend.js'
import type { Environment, Output, Terminal } from '../../io.js'
import { styleOf } from '../../output/print.js'
import { frame, type Snapshot } from './frame.js'

const GROUPS_READ = 200
const QUEUES_READ = 100
const FAILURES_MAX = 30
const INTERVALS_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000] as const
const ROWS_DEFAULT = 24

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const REST_OF_LINE = '\u001b[K'
const REST_OF_SCREEN = '\u001b[J'

export async function look(backend: Backend): Promise<Snapshot> {
  const [stats, queues, groups, workers, info] = await Promise.all([
    backend.stats(),
    backend.queues.report({ sort: 'busiest', limit: QUEUES_READ }),
    backend.dead.groups({ all: true, limit: GROUPS_READ }),
    backend.workers(),
    backend.info(),
  ])
  return { location: info.location, stats, queues: queues.data, failures: newest(groups.data), workers }
}

function newest(groups: readonly ErrorGroupView[]): readonly ErrorGroupView[] {
  return groups.toSorted((a, b) => (a.lastSeen < b.lastSeen ? 1 : -1)).slice(0, FAILURES_MAX)
}

interface TopOptions {
  readonly backend: Backend
  readonly terminal: Terminal
  readonly output: Output
  readonly env: Environment
  readonly clock: Clock
  readonly everyMs: number
}

/** A screen that refreshes until the user quits. */
export class Top {
  readonly #options: TopOptions
  #everyMs: number
  #snapshot: Snapshot | undefined
  #selected: string | undefined
  #isPaused = false
  #problem: string | undefined
  #note: string | undefined
  #timer: Timer | undefined
  #isLooking = false
  #end: () => void = () => undefined
  readonly #keys: Readonly<Partial<Record<string, () => void>>> = {
    q: () => this.#end(),
    '\u0003': () => this.#end(),
    '\u001b': () => this.#end(),
    j: () => this.#choose(1),
    '\u001b[B': () => this.#choose(1),
    k: () => this.#choose(-1),
    '\u001b[A': () => this.#choose(-1),
    ' ': () => this.#hold(),
    p: () => this.#hold(),
    P: () => void this.#pauseQueue(),
    '+': () => this.#pace(1),
    '-': () => this.#pace(-1),
  }

  constructor(options: TopOptions) {
    this.#options = options
    this.#everyMs = options.everyMs
  }

  /** Restores the terminal in any case. */
  async run(interrupted: AbortSignal): Promise<void> {
    const { terminal, output } = this.#options
    const over = new Promise<void>(resolve => {
      this.#end = resolve
    })
    const stop = (): void => this.#end()
    interrupted.addEventListener('abort', stop, { once: true })
    if (interrupted.aborted) stop()
    const release = terminal.capture({ onKey: key => this.#press(key), onResize: () => this.#draw() })
    output.write(ENTER)
    try {
      void this.#follow()
      await over
    } finally {
      this.#timer?.cancel()
      this.#end = () => undefined
      interrupted.removeEventListener('abort', stop)
      release()
      output.write(LEAVE)
    }
  }

  async #follow(): Promise<void> {
    this.#timer?.cancel()
    await this.#look()
    this.#timer = this.#options.clock.timer(this.#everyMs, () => void this.#follow())
  }

  async #look(): Promise<void> {
    if (this.#isPaused || this.#isLooking) return
    this.#isLooking = true
    try {
      this.#snapshot = await look(this.#options.backend)
      this.#problem = undefined
    } catch (error) {
      // Keep the last picture, and say that it is old.
      this.#problem = wordsOf(error)
    }
    this.#isLooking = false
    this.#draw()
  }

  #draw(): void {
    const { output, terminal, env } = this.#options
    const rows = terminal.rows ?? ROWS_DEFAULT
    if (!this.#snapshot) {
      output.write(`${HOME}${this.#problem ?? 'loading …'}${REST_OF_LINE}${REST_OF_SCREEN}`)
      return
    }
    const view = {
      rows,
      selected: this.#selected,
      isPaused: this.#isPaused,
      everyMs: this.#everyMs,
      problem: this.#problem,
      note: this.#note,
      hasKeys: true,
    }
    const lines = frame(this.#snapshot, view, styleOf(output, env))
    output.write(`${HOME}${lines.map(line => `${line}${REST_OF_LINE}`).join('\r\n')}${REST_OF_SCREEN}`)
  }

  #press(key: string): void {
    this.#note = undefined
    const act = this.#keys[key]
    if (act) act()
    else this.#draw()
  }

  #choose(step: number): void {
    const names = this.#snapshot?.queues.map(({ name }) => name) ?? []
    const at = Math.max(0, names.indexOf(this.#selected ?? ''))
    this.#selected = names[Math.min(names.length - 1, Math.max(0, at + step))]
    this.#draw()
  }

  #hold(): void {
    this.#isPaused = !this.#isPaused
    if (this.#isPaused) this.#draw()
    else void this.#follow()
  }

  #pace(step: number): void {
    const at = INTERVALS_MS.findIndex(ms => ms >= this.#everyMs)
    this.#everyMs = INTERVALS_MS[Math.min(INTERVALS_MS.length - 1, Math.max(0, at + step))]!
    void this.#follow()
  }

  /** The key is upper case because it affects all workers. */
  async #pauseQueue(): Promise<void> {
    const { queues } = this.#options.backend
    const known = this.#snapshot?.queues ?? []
    const queue = known.find(({ name }) => name === this.#selected) ?? known[0]
    if (!queue) return
    try {
      await (queue.paused ? queues.resume(queue.name) : queues.pause(queue.name))
      this.#note = `queue ${queue.name} is ${queue.paused ? 'resumed' : 'paused'}`
    } catch (error) {
      this.#note = wordsOf(error)
    }
    await this.#look()
    this.#draw()
  }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
