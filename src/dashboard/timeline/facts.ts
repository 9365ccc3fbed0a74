import type { AttemptView } from '../../core/job/view.js'
import { type LifePart, outcomesOf, type RunPart, type WaitPart } from './life.js'
import { spanText } from './span-text.js'

/** What there is to say of a part when somebody points at it. */
export interface Facts {
  readonly title: string
  readonly lines: readonly (readonly [what: string, value: string])[]
}

/** A moment for people, as exact as there is. */
export type MomentText = (ms: number) => string

const STATUS_WORDS: Readonly<Record<string, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  'timed-out': 'timed out',
  lost: 'lost with its worker',
  snoozed: 'snoozed',
  released: 'handed back',
  deferred: 'deferred',
  cancelled: 'cancelled',
  running: 'running',
  dead: 'dead',
  mixed: 'mixed',
}

export function statusWords(status: string): string {
  return STATUS_WORDS[status] ?? status
}

export function factsOf(part: LifePart, moment: MomentText, now: number): Facts {
  switch (part.kind) {
    case 'run':
      return part.rows.length > 1 ? bucketFacts(part, moment) : runFacts(part, moment)
    case 'ghost':
      return {
        title: `${part.label}, if all before it fail`,
        lines: [
          ['earliest', `${moment(part.earliest)} (${inWords(part.earliest, now)})`],
          ['latest', `${moment(part.latest)} (${inWords(part.latest, now)})`],
          ...(part.skipped > 0 ? [['not drawn', `${part.skipped} runs before it`] as const] : []),
          ...(part.isLast ? [['then', 'it is dead: no retry is left'] as const] : []),
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
  queue: 'Due, and waited for a worker',
  over: 'Over, until somebody started it again',
  ahead: 'To come',
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
      ...(source === 'retry-after' ? [['because', 'the other side said when to come back'] as const] : []),
    ],
  }
}

/** The window of a decision in words: `1s to 3s`. */
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

/** The same in one sentence, for those who hear it. */
export function spoken({ title, lines }: Facts): string {
  return [title, ...lines.map(([what, value]) => `${what} ${value}`)].join(', ')
}

/** The life of a job in one line of text: `#1 ■ failed 0.4s ··2s·· #2 ■ succeeded 0.2s`. */
export function lifeText(parts: readonly LifePart[]): string {
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
