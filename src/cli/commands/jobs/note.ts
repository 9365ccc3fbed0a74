import type { StoredError } from '../../../core/job/job.js'
import type { AttemptView } from '../../../core/job/view.js'
import { formatMs } from '../../../core/values/duration.js'
import type { Style } from '../../output/print.js'
import { cut, oneLine } from '../../output/width.js'

export function errorText({ name, message, code, status }: StoredError): string {
  const more = [code, status === undefined ? undefined : `HTTP ${status}`].filter(text => text !== undefined)
  const head = message.startsWith(name) ? message : `${name}: ${message}`
  return more.length === 0 ? head : `${head} (${more.join(', ')})`
}

const ERROR_COLUMNS = 200

/** The note of a run, its error, the decision that followed, and its trace. */
export function noteOf(attempt: AttemptView, style: Style): string {
  const { traceId } = attempt
  return [outcomeText(attempt, style), traceId === undefined ? '' : `trace ${traceId}`]
    .filter(part => part !== '')
    .join('; ')
}

function outcomeText(attempt: AttemptView, style: Style): string {
  const { status, note = '', decision } = attempt
  if (status === 'succeeded') return note
  const text = failureText(attempt, style)
  // The decision repeats the notes of the engine, but not those of the handler.
  return note === '' || decision?.why.includes(note) ? text : [note, text].filter(part => part !== '').join('; ')
}

function failureText({ status, error, decision }: AttemptView, { unicode }: Style): string {
  const why = decision?.why ?? ''
  if (!error || status === 'lost') return why
  // The caller already shows the run and the job.
  const message = error.message.replace(/^run \d+ of job \S+ /, '')
  const text = cut(oneLine(errorText({ ...error, message })), ERROR_COLUMNS)
  const next = decision?.action === 'retry' ? `retry in ${formatMs(decision.delayMs ?? 0)}` : why
  return next === '' ? text : `${text} ${unicode ? '→' : '->'} ${next}`
}
