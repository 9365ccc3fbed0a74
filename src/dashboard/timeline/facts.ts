import type { AttemptView } from '../../core/job/view.js'
import { type HistoryPart, outcomesOf, type RunPart, type WaitPart } from './history.js'
import { spanText } from './span-text.js'

/** The content of a tip: what a part is, and its exact figures. */
export interface Facts {
  readonly title: string
  readonly lines: readonly (readonly [what: string, value: string])[]
}

/** Formats a moment with all its digits. */
export type MomentText = (ms: number) => string

const STATUS_WORDS: Readonly<Record<string, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  'timed-out': 'timed out',
  lost: 'lost with its worker',
  snoozed: 'snoozed',
  released: 'released',
  deferred: 'deferred',
  cancelled: 'cancelled',
  running: 'running',
  dead: 'dead',
  mixed: 'mixed',
}

export function statusWords(status: string): string {
  return STATUS_WORDS[status] ?? status
}

export function factsOf(part: HistoryPart, moment: MomentText, now: number): Facts {
  switch (part.kind) {
    case 'run':
      return part.rows.length > 1 ? bucketFacts(part, moment) : runFacts(part, moment)
    case 'ghost':
      return {
        title: `${part.label}, if all before it fail`,
        lines: [
          ['earliest', `${moment(part.earliest)} (${inWords(part.earliest, now)})`],
          ['latest', `${moment(part.latest)} (${inWords(part.latest, now)})`],
          ...(part.skipped > 0 ? [['not shown', `${part.skipped} runs before it`] as const] : []),
          ...(part.isLast ? [['then', 'the job is dead: no retries left'] as const] : []),
        ],
      }
    case 'end':
      return { title: `Ended ${statusWords(part.status)}, without another run`, lines: [['at', moment(part.to)]] }
    default:
      return waitFacts(part, moment)
  }
}

function runFacts({ label, status, from, to, rows }: RunPart, moment: MomentText): Facts {
  const attempt = rows[0]?.attempt
  return {
    title: `${label} · ${statusWords(status)}`,
    lines: [
      ['started', moment(from)],
      ...(status === 'running' ? [] : [['ended', moment(to)] as const]),
      [status === 'running' ? 'running for' : 'took', spanText(to - from)],
      ...errorLines(attempt),
      ...(attempt?.note ? [['note', short(attempt.note)] as const] : []),
      ...(attempt ? [['worker', attempt.workerId] as const] : []),
      ...(attempt?.decision ? [['then', short(attempt.decision.why)] as const] : []),
    ],
  }
}

function errorLines(attempt: AttemptView | undefined): Facts['lines'] {
  if (attempt?.error === undefined) return []
  const { name, message, status } = attempt.error
  return [
    ...(status === undefined ? [] : [['status', String(status)] as const]),
    ['error', short(`${name}: ${message}`)],
  ]
}

function bucketFacts(part: RunPart, moment: MomentText): Facts {
  const waited = part.to - part.from
  return {
    title: `${part.rows.length} runs, ${part.label}`,
    lines: [
      ['first started', moment(part.from)],
      ['last ended', moment(part.to)],
      ['over', spanText(waited)],
      ...outcomesOf(part).map(([status, count]) => [statusWords(status), String(count)] as const),
    ],
  }
}

const WAIT_TITLES: Readonly<Record<WaitPart['kind'], string>> = {
  wait: 'Waited',
  queue: 'Due, waited for a worker',
  ended: 'Ended, then restarted after',
  ahead: 'Next run in',
}

function waitFacts({ kind, from, to, after, window }: WaitPart, moment: MomentText): Facts {
  const planned = kind === 'wait' ? after?.delayMs : undefined
  const { jitter, source } = after?.decision ?? {}
  return {
    title: `${WAIT_TITLES[kind]} ${spanText(to - from)}`,
    lines: [
      ['from', moment(from)],
      ['to', moment(to)],
      ...(planned === undefined ? [] : [['planned', spanText(planned)] as const]),
      ...(window === undefined || after === undefined
        ? []
        : [['jitter', `${jitter ?? 'some'}: ${windowWords(after)}`] as const]),
      ...(source === 'retry-after' ? [['reason', 'the server sent Retry-After'] as const] : []),
    ],
  }
}

/** The jitter window of a decision: `1 s to 3 s`. */
export function windowWords({ decision }: AttemptView): string {
  const [lo, hi] = decision?.windowMs ?? [0, 0]
  return lo === hi ? spanText(lo) : `${spanText(lo)} to ${spanText(hi)}`
}

export function inWords(at: number, now: number): string {
  return at >= now ? `in ${spanText(at - now)}` : `${spanText(now - at)} ago`
}

const TEXT_MAX = 160

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= TEXT_MAX ? line : `${line.slice(0, TEXT_MAX - 1)}…`
}

/** The facts in one sentence, for screen readers. */
export function spoken({ title, lines }: Facts): string {
  return [title, ...lines.map(([what, value]) => `${what} ${value}`)].join(', ')
}

/** A job's history in one line: `Initial failed 1 s ··2 s·· Retry #1 succeeded 500 ms`. */
export function historyText(parts: readonly HistoryPart[]): string {
  return parts
    .flatMap(part => {
      switch (part.kind) {
        case 'run':
          return `${part.label} ${statusWords(part.status)} ${spanText(part.to - part.from)}`
        case 'end':
          return statusWords(part.status)
        case 'ghost':
          return `(${part.label})`
        default:
          return part.to > part.from ? `··${spanText(part.to - part.from)}··` : []
      }
    })
    .join(' ')
}
