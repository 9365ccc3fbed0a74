import { isActive } from '../../../core/redrive/redrive.js'
import type { RedriveView } from '../../../engine/dead/redrives.js'
import { systemClock } from '../../../engine/time/system.js'
import type { Backend } from '../../backend/backend.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { type Style, styleOf } from '../../output/print.js'
import { many, show } from '../../output/show.js'
import { markText, REDRIVE_MARKS } from '../../output/symbols.js'
import { cut, padEnd, widthOf } from '../../output/width.js'
import { barOf, leftWords, progressWords, wholeOf } from './words.js'

const LOOK_FIRST_MS = 100
const LOOK_MAX_MS = 1_000
/** Longer than a worker needs to notice a new redrive. */
const STILL_MS = 15_000

/** Polls a redrive until it ends: workers in other processes carry it out. */
export async function follow(backend: Backend, id: string, options: { readonly json?: true }, io: Io): Promise<number> {
  const { stderr, interrupted } = io
  const progress = new Progress(io, options.json === true)
  const leave = (): void => {
    progress.end()
    stderr.write(`redrive ${id} continues; follow it with \`chronos redrives get ${id} --follow\`\n`)
  }
  interrupted.addEventListener('abort', leave, { once: true })
  try {
    await warn(backend, progress)
    const redrive = await ended(backend, id, progress, interrupted)
    progress.end()
    return tell(redrive, options, io)
  } finally {
    interrupted.removeEventListener('abort', leave)
  }
}

async function ended(backend: Backend, id: string, progress: Progress, interrupted: AbortSignal): Promise<RedriveView> {
  let movedAt = systemClock.now()
  for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(LOOK_MAX_MS, pauseMs * 1.5)) {
    interrupted.throwIfAborted()
    const redrive = await backend.redrives.get(id)
    if (!isActive(redrive) && redrive.state !== 'paused') return redrive
    if (progress.show(redrive)) movedAt = systemClock.now()
    if (systemClock.now() - movedAt > STILL_MS) {
      movedAt = systemClock.now()
      await warn(backend, progress)
    }
    await new Promise<void>(resolve => systemClock.timer(pauseMs, resolve))
  }
}

/** Without a worker the redrive makes no progress. */
async function warn(backend: Backend, progress: Progress): Promise<void> {
  const workers = await backend.workers()
  if (workers.some(({ state }) => state === 'alive')) return
  progress.say('no worker is alive: start one to carry out the redrive (see `chronos workers`)')
}

const WORD_COLUMNS = 9
const BAR_MIN_COLUMNS = 5
const BAR_MAX_COLUMNS = 40

/** On a terminal one line that is redrawn, otherwise one line per change. */
class Progress {
  readonly #io: Io
  readonly #style: Style
  readonly #isTerminal: boolean
  readonly #isSilent: boolean
  #last = ''

  constructor(io: Io, isSilent: boolean) {
    this.#io = io
    this.#style = styleOf(io.stderr, io.env)
    this.#isTerminal = io.stderr.isTTY === true
    this.#isSilent = isSilent
  }

  /** Whether anything has changed. */
  show(redrive: RedriveView): boolean {
    const line = this.#line(redrive)
    if (line === this.#last) return false
    this.#last = line
    if (this.#isSilent) return true
    this.#io.stderr.write(this.#isTerminal ? `\r\u001b[K${line}` : `${line}\n`)
    return true
  }

  say(words: string): void {
    this.end()
    this.#io.stderr.write(`${words}\n`)
  }

  /** Clears the line on a terminal. */
  end(): void {
    if (this.#isTerminal && !this.#isSilent && this.#last !== '') this.#io.stderr.write('\r\u001b[K')
    this.#last = ''
  }

  #line(redrive: RedriveView): string {
    const style = this.#style
    const mark = REDRIVE_MARKS[redrive.state]
    const head = markText({ ...mark, word: padEnd(mark.word, WORD_COLUMNS - 2) }, style)
    const words = progressWords(redrive)
    if (!this.#isTerminal) return `${head}  ${words}`
    const whole = wholeOf(redrive)
    // Reserve the final width, so that the bar does not jump. Leave the last column free, where terminals wrap.
    const widest = progressWords({ ...redrive, started: whole, succeeded: whole })
    const room = style.columns - WORD_COLUMNS - widthOf(widest) - 3
    if (room < BAR_MIN_COLUMNS) return `${head} ${cut(words, style.columns - WORD_COLUMNS - 2)}`
    return `${head} ${barOf(redrive, Math.min(BAR_MAX_COLUMNS, room), style)} ${words}`
  }
}

const CONFLICTS_SHOWN = 5

function tell(redrive: RedriveView, options: { readonly json?: true }, io: Io): number {
  const { id, state, conflicts, conflictCount } = redrive
  show(io, options, redrive, style => `redrive ${id} ${markText(REDRIVE_MARKS[state], style)}: ${endWords(redrive)}\n`)
  if (!options.json) {
    for (const { jobId, conflictId } of conflicts.slice(0, CONFLICTS_SHOWN)) {
      io.stderr.write(`job ${jobId} was not started: live job ${conflictId} has the same unique value\n`)
    }
    if (conflictCount > CONFLICTS_SHOWN) io.stderr.write(`… and ${many(conflictCount - CONFLICTS_SHOWN, 'job')} more\n`)
    if (state === 'stopped')
      io.stderr.write(
        'fix the cause, then resume the redrive or redrive the jobs again: those not started are still dead\n',
      )
  }
  return state === 'done' ? EXIT.ok : EXIT.checkFailed
}

/** Why it ended, its progress and the skipped jobs, in one line. */
export function endWords(redrive: RedriveView): string {
  return [...(redrive.why === undefined ? [] : [redrive.why]), progressWords(redrive), ...leftWords(redrive)].join('; ')
}
