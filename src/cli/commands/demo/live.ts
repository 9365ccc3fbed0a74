import type { DeathReason } from '../../../core/job/job.js'
import { formatMs } from '../../../core/values/duration.js'
import { paint, type Style } from '../../output/print.js'
import { type Mark, PHASE_MARKS, RUN_MARKS } from '../../output/symbols.js'
import { cut, oneLine, padEnd, padStart } from '../../output/width.js'
import type { DemoEvent } from './recorder.js'
import { STORIES } from './stories.js'

export const MARKS = {
  started: { ...PHASE_MARKS.running, word: 'started', tone: 'dim' },
  succeeded: PHASE_MARKS.succeeded,
  failed: RUN_MARKS.failed,
  timedOut: RUN_MARKS['timed-out'],
  retrying: PHASE_MARKS.retrying,
  snoozed: RUN_MARKS.snoozed,
  killed: { symbol: '↯', ascii: '!', word: 'killed', tone: 'odd' },
  lost: RUN_MARKS.lost,
  dead: PHASE_MARKS.dead,
  cancelled: PHASE_MARKS.cancelled,
} as const satisfies Record<string, Mark>

const WHY_DEAD: Readonly<Partial<Record<DeathReason, string>>> = {
  exhausted: 'no retries left',
  permanent: 'not retryable',
  failed: 'at most once, never retried',
  poison: 'it kills its workers',
}

interface Line {
  readonly mark: Mark
  readonly name: string
  readonly what: string
}

const NAME_COLUMNS = Math.max(...STORIES.map(({ name }) => name.length))
const WORD_COLUMNS = Math.max(...Object.values(MARKS).map(({ word }) => word.length))
const TIME_COLUMNS = '+0.00s'.length

export class Live {
  readonly #style: Style
  /** Start of the current run of each job. */
  readonly #started = new Map<string, number>()
  /** Name of the job that the other process runs. */
  #elsewhere = ''

  constructor(style: Style) {
    this.#style = style
  }

  /** Undefined for an event that is not shown. */
  line(event: DemoEvent): string | undefined {
    const line = this.#lineOf(event)
    if (!line) return undefined
    const style = this.#style
    const { symbol, ascii, word, tone } = line.mark
    const time = padStart(`+${(event.atMs / 1000).toFixed(2)}s`, TIME_COLUMNS)
    const mark = `${style.unicode ? symbol : ascii} ${padEnd(word, WORD_COLUMNS)}`
    const left = style.columns - time.length - mark.length - 2
    const rest = cut(`${padEnd(line.name, NAME_COLUMNS)} ${oneLine(line.what)}`, left)
    // Starts are dimmed, so that outcomes stand out.
    const restTone = line.mark === MARKS.started ? 'dim' : undefined
    return `${paint(time, 'dim', style)} ${paint(mark, tone, style)} ${paint(rest, restTone, style)}\n`
  }

  #lineOf(event: DemoEvent): Line | undefined {
    switch (event.event) {
      case 'job.started': {
        const { job, atMs, pid } = event
        this.#started.set(job.id, atMs)
        if (pid !== undefined) this.#elsewhere = job.name
        const where = pid === undefined ? '' : ` in process ${pid}`
        return { mark: MARKS.started, name: job.name, what: attemptOf(job) + where }
      }
      case 'job.succeeded': {
        const { job, durationMs } = event
        return { mark: MARKS.succeeded, name: job.name, what: `${attemptOf(job)}: done in ${formatMs(durationMs)}` }
      }
      case 'attempt.failed':
        return this.#lineOfFailure(event)
      case 'job.retrying': {
        const { job, retry, maxRetries, delayMs } = event
        const what = `retry ${retry} of ${maxRetries} in ${formatMs(delayMs)}`
        return { mark: MARKS.retrying, name: job.name, what }
      }
      case 'job.snoozed':
        return { mark: MARKS.snoozed, name: event.name, what: event.why.replace(/^snoozed /, '') }
      case 'job.dead': {
        const { job, reason } = event
        return { mark: MARKS.dead, name: job.name, what: `${reason}: ${WHY_DEAD[reason] ?? 'not retried'}` }
      }
      case 'worker.died':
        return { mark: MARKS.killed, name: this.#elsewhere, what: `process ${event.pid} died (${event.how})` }
      case 'job.cancelled':
        return { mark: MARKS.cancelled, name: event.job.name, what: attemptOf(event.job) }
      case 'job.enqueued':
      case 'lease.lost':
        return undefined
    }
  }

  #lineOfFailure({ job, error, timedOut, atMs }: Extract<DemoEvent, { event: 'attempt.failed' }>): Line {
    const { name } = job
    if (error.name === 'WorkerLost') {
      return { mark: MARKS.lost, name, what: `${attemptOf(job)}: its lease expired` }
    }
    if (!timedOut) return { mark: MARKS.failed, name, what: `${attemptOf(job)}: ${error.message}` }
    const tookMs = atMs - (this.#started.get(job.id) ?? atMs)
    return { mark: MARKS.timedOut, name, what: `${attemptOf(job)}: stopped after ${formatMs(tookMs)}` }
  }
}

function attemptOf({ attempt, maxAttempts }: { readonly attempt: number; readonly maxAttempts: number }): string {
  return `attempt ${attempt} of ${maxAttempts}`
}
