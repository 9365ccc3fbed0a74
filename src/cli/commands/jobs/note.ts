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

const TOLD_COLUMNS = 200

/** What went wrong in a run and what came of it. */
export function noteOf({ status, error, note, decision }: AttemptView, { unicode }: Style): string {
  if (status === 'succeeded') return note ?? ''
  const why = decision?.why ?? ''
  // Of other ends the decision knows more: it has the note in it.
  if (!error || status === 'lost') return why
  // Whoever reads it knows which run of which job it was.
  const message = error.message.replace(/^run \d+ of job \S+ /, '')
  const told = cut(oneLine(errorText({ ...error, message })), TOLD_COLUMNS)
  const next = decision?.action === 'retry' ? `retry in ${formatMs(decision.delayMs ?? 0)}` : why
  return next === '' ? told : `${told} ${unicode ? '→' : '->'} ${next}`
}
