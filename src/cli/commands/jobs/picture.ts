import type { Timeline, TimelineRow } from '../../../core/job/timeline.js'
import { type JobView, timeText } from '../../../core/job/view.js'
import { preview } from '../../../core/policy/preview.js'
import { DAY_MS, formatMs } from '../../../core/values/duration.js'
import { paint, type Style, type Tone } from '../../output/print.js'
import { hang, many } from '../../output/show.js'
import { RUN_MARKS, type RunMark, sign } from '../../output/symbols.js'
import { padEnd, padStart } from '../../output/width.js'
import { columnOf, type Stretch, stretches } from './axis.js'
import { standing, title } from './job.js'
import { noteOf } from './note.js'

const PIPE_COLUMNS = 100
const LABEL_COLUMNS = 9
const TOOK_COLUMNS = 8
const STATUS_COLUMNS = 9
const AXIS_MIN_COLUMNS = 16

interface Canvas {
  readonly style: Style
  /** Width of the axis; the symbol at its end takes one more column. */
  readonly columns: number
  readonly clock: (at: number) => string
  readonly clockColumns: number
  /** The spans of each row with their widths. */
  readonly drawn: readonly (readonly Stretch[])[]
}

/** A picture of a job: one line per run on a common time axis, then notes. */
export function draw(job: JobView, timeline: Timeline, given: Style): string {
  // A pipe has no width, so the axis gets a fixed one.
  const style = { ...given, columns: Number.isFinite(given.columns) ? given.columns : PIPE_COLUMNS }
  const canvas = canvasFor(timeline, style)
  const words = [...notes(timeline.rows, style), toCome(job, style)].filter(line => line !== '')
  return [
    title(job, style),
    standing(job, timeline.now, style),
    '\n',
    axis(timeline, canvas),
    timeline.earlier > 0 ? `  ${paint(`${many(timeline.earlier, 'earlier run')} not shown`, 'dim', style)}\n` : '',
    ...rowLines(timeline.rows, canvas),
    ...(words.length > 0 ? ['\n', ...words] : []),
    legend(canvas),
  ].join('')
}

function canvasFor(timeline: Timeline, style: Style): Canvas {
  const clock = clockFor(timeline)
  const clockColumns = clock(timeline.from).length
  const others = 2 + clockColumns + 1 + LABEL_COLUMNS + 1 + 2 + TOOK_COLUMNS + 1 + STATUS_COLUMNS
  const columns = Math.max(AXIS_MIN_COLUMNS, style.columns - others)
  return { style, columns, clock, clockColumns, drawn: stretches(timeline, columns) }
}

const MINUTE_MS = 60_000

/** The longer the timeline, the coarser its times. */
function clockFor({ from, to }: Timeline): (at: number) => string {
  const isOneDay = to - from < DAY_MS && timeText(from).slice(0, 10) === timeText(to).slice(0, 10)
  if (isOneDay && to - from < MINUTE_MS) return at => timeText(at).slice(11, 23)
  if (isOneDay) return at => timeText(at).slice(11, 19)
  return at => timeText(at).slice(5, 16).replace('T', ' ')
}

/** Times at both ends, and now if it is between them. */
function axis({ from, to, now }: Timeline, { style, columns, clock, clockColumns, drawn }: Canvas): string {
  const end = widthOf(drawn.flat())
  const words = Array<string>(columns + 1).fill(' ')
  const write = (text: string, at: number): void => {
    const start = Math.max(0, Math.min(at, words.length - text.length))
    const isFree = words.slice(Math.max(0, start - 1), start + text.length + 1).every(char => char === ' ')
    if (isFree) words.splice(start, text.length, ...text)
  }
  write(clock(from), 0)
  write(clock(to), end - clockColumns + 1)
  const line = Array<string>(end + 1).fill(style.unicode ? '─' : '-')
  line[0] = style.unicode ? '├' : '|'
  line[end] = style.unicode ? '┤' : '|'
  const middle = columnOf(now, drawn)
  if (middle !== undefined && middle > 0) {
    line[middle] = style.unicode ? '┼' : '+'
    write('now', middle - 1)
  }
  const margin = ' '.repeat(2 + clockColumns + 1 + LABEL_COLUMNS + 1)
  return [words, line].map(each => `${paint(`${margin}${each.join('').trimEnd()}`, 'dim', style)}\n`).join('')
}

function widthOf(drawn: readonly Stretch[]): number {
  return drawn.reduce((sum, { columns }) => sum + columns, 0)
}

function rowLines(rows: readonly TimelineRow[], canvas: Canvas): readonly string[] {
  const { style, drawn } = canvas
  let offset = 0
  return rows.flatMap((row, i) => {
    const line = rowLine(row, drawn[i]!, offset, canvas)
    offset += widthOf(drawn[i]!)
    const startsAgain = row.generation > (rows[i - 1]?.generation ?? row.generation)
    return startsAgain
      ? [`  ${paint(`retried manually or by a redrive, generation ${row.generation}`, 'dim', style)}\n`, line]
      : [line]
  })
}

/** Start, label, picture, duration and outcome. */
function rowLine(row: TimelineRow, drawn: readonly Stretch[], offset: number, canvas: Canvas): string {
  const { style, columns, clock, clockColumns } = canvas
  const mark = RUN_MARKS[row.status as RunMark] ?? RUN_MARKS.cancelled
  const run = row.spans.find(({ kind }) => kind === 'running')
  // A due run that no worker has claimed has no start time.
  const began = run?.from ?? (row.spans.at(-1)?.kind === 'queued' ? undefined : row.spans.at(-1)?.to)
  const picture = drawn.map(stretch => glyphs(stretch, mark.tone, style)).join('')
  const room = Math.max(0, columns - offset - widthOf(drawn))
  const cells = [
    ` ${paint(padEnd(began === undefined ? 'due' : clock(began), clockColumns), 'dim', style)}`,
    padEnd(row.label, LABEL_COLUMNS),
    `${' '.repeat(offset)}${picture}${paint(sign(mark, style), mark.tone, style)}${' '.repeat(room)}`,
    padStart(run && row.status !== 'running' ? formatMs(run.to - run.from) : '', TOOK_COLUMNS),
    paint(row.status === 'dead' ? 'died' : mark.word, mark.tone, style),
  ]
  return ` ${cells.join(' ')}\n`
}

const GLYPHS = {
  running: { symbol: '█', ascii: '#', word: 'running' },
  waiting: { symbol: '┄', ascii: '-', word: 'waiting' },
  queued: { symbol: '·', ascii: '.', word: 'due, waiting for a worker' },
  ended: { symbol: ' ', ascii: ' ', word: '' },
} as const satisfies Record<Stretch['kind'], { symbol: string; ascii: string; word: string }>

const CUT = { symbol: '≈', ascii: '~', word: 'longer than drawn' }

function glyphs({ kind, columns, isCut }: Stretch, tone: Tone, style: Style): string {
  const fill = glyph(GLYPHS[kind], style).repeat(columns)
  const middle = Math.floor(columns / 2)
  const shape = isCut ? `${fill.slice(0, middle)}${glyph(CUT, style)}${fill.slice(middle + 1)}` : fill
  return paint(shape, kind === 'running' ? tone : kind === 'queued' ? 'warn' : 'dim', style)
}

function glyph({ symbol, ascii }: { symbol: string; ascii: string }, { unicode }: Style): string {
  return unicode ? symbol : ascii
}

/** Only the symbols that appear in the picture. */
function legend({ drawn, style }: Canvas): string {
  const all = drawn.flat().filter(({ columns }) => columns > 0)
  const kinds = (['running', 'waiting', 'queued'] as const).filter(kind => all.some(each => each.kind === kind))
  const parts = [
    ...kinds.map(kind => `${glyph(GLYPHS[kind], style).repeat(2)} ${GLYPHS[kind].word}`),
    ...(all.some(({ isCut }) => isCut) ? [`${glyph(CUT, style)} ${CUT.word}`] : []),
    'times in UTC',
  ]
  return `\n  ${paint(parts.join('   '), 'dim', style)}\n`
}

/** Errors and decisions of the runs. */
function notes(rows: readonly TimelineRow[], style: Style): readonly string[] {
  return rows.flatMap(({ label, attempt }) => {
    const note = attempt ? noteOf(attempt, style) : ''
    return note === '' ? [] : [noteLine(label, note, style)]
  })
}

const IF_IT_FAILS = 'if it fails'
const STEPS_SHOWN = 3

/** The retries that would follow a failure. */
function toCome(job: JobView, style: Style): string {
  if (job.state !== 'waiting' && job.state !== 'running') return ''
  const next = job.state === 'running' ? job.attempt : job.attempt + 1
  const left = job.delivery === 'at-most-once' ? [] : preview(job.retry).filter(({ retry }) => retry >= next)
  if (left.length === 0) return noteLine(IF_IT_FAILS, 'the job dies: this is its last attempt', style)
  const steps = left.slice(0, STEPS_SHOWN).map(({ label, window: [lo, hi] }) => {
    const after = lo === hi ? formatMs(lo) : `${formatMs(lo)} to ${formatMs(hi)}`
    return `${label} after ${after}`
  })
  const more = left.length > STEPS_SHOWN ? `, and ${left.length - STEPS_SHOWN} more` : ''
  return noteLine(IF_IT_FAILS, `${steps.join(', then ')}${more}`, style)
}

function noteLine(label: string, words: string, style: Style): string {
  const head = `  ${padEnd(label, IF_IT_FAILS.length)}  `
  return hang(paint(head, 'dim', style), head.length, words, style)
}
