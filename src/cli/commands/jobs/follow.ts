import type { AttemptView, JobView } from '../../../core/job/view.js'
import { formatMs } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import type { JobUpdate } from '../../../engine/results/follow.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { paint, type Style, styleOf } from '../../output/print.js'
import { hang, jsonLine, valueText } from '../../output/show.js'
import { markText, PHASE_MARKS, RUN_MARKS } from '../../output/symbols.js'
import { oneLine } from '../../output/width.js'
import { clockTime, logLine } from './history.js'
import { errorText, noteOf } from './note.js'

interface FollowFlags extends BackendOptions {
  readonly cursor?: string
}

/** Prints what happens to a job until it has ended; the exit code tells how. */
export async function followJob(id: string, options: FollowFlags, io: Io): Promise<number> {
  const style = styleOf(io.stdout, io.env)
  return withBackend(options, io, async backend => {
    const { cursor } = options
    for await (const update of backend.jobs.follow(id, present({ cursor, signal: io.interrupted }))) {
      io.stdout.write(options.json ? jsonLine(update) : textOf(update, style))
      if (update.type === 'end') return update.job.state === 'succeeded' ? EXIT.ok : EXIT.jobDied
    }
    return EXIT.ok
  })
}

function textOf(update: JobUpdate, style: Style): string {
  switch (update.type) {
    case 'log':
      return logLine(update.line, style)
    case 'progress':
      return `${paint('progress', 'dim', style)}  ${valueText(update.progress, Number.POSITIVE_INFINITY)}\n`
    case 'attempt':
      return attemptLine(update.attempt, style)
    case 'end':
      return endLine(update.job, style)
  }
}

function attemptLine(attempt: AttemptView, style: Style): string {
  const { run, label, status, finishedAt, durationMs } = attempt
  const head = `${clockTime(finishedAt)}  run ${run}  `
  const { symbol, ascii, word } = RUN_MARKS[status]
  const note = noteOf(attempt, style)
  const words = `${style.unicode ? symbol : ascii} ${word}  ${label}, ${formatMs(durationMs)}${note === '' ? '' : `: ${note}`}`
  return hang(paint(head, 'dim', style), head.length, words, style)
}

function endLine({ phase, reason, result, error }: JobView, style: Style): string {
  const why = [reason, error && errorText(error)].filter(text => text !== undefined).join(': ')
  const words = result === undefined ? oneLine(why) : valueText(result, Number.POSITIVE_INFINITY)
  return `${markText(PHASE_MARKS[phase], style)}${words === '' ? '' : `  ${words}`}\n`
}
