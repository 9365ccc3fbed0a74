import { percentText, retryRateText } from '../../../core/values/number.js'
import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import type { FleetStats } from '../../../engine/figures/statistics.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import type { WorkerView } from '../../../engine/worker/fleet.js'
import { brief, timeOf } from '../../output/moment.js'
import { type Cell, type Column, paint, type Style, table } from '../../output/print.js'
import { countText } from '../../output/show.js'
import { sparkline } from '../../output/sparkline.js'
import { PHASE_MARKS, sign } from '../../output/symbols.js'
import { cut, oneLine, padEnd, widthOf } from '../../output/width.js'

export interface Snapshot {
  readonly location: string
  readonly stats: FleetStats
  readonly queues: readonly QueueReport[]
  /** Most recently seen first. */
  readonly failures: readonly ErrorGroupView[]
  readonly workers: readonly WorkerView[]
}

export interface View {
  readonly rows: number
  /** Name of the selected queue. Default: the first one. */
  readonly selected?: string | undefined
  readonly isPaused: boolean
  readonly everyMs: number
  /** Why the data may be old. */
  readonly problem?: string | undefined
  readonly note?: string | undefined
  /** False: do not show the keys. */
  readonly hasKeys: boolean
}

const HEAD_ROWS = 5
const FAILURES_MIN = 3
const WORKERS_MAX = 4

/** The lines of one screen, limited to the size of the terminal. */
export function frame(snapshot: Snapshot, view: View, style: Style): readonly string[] {
  const plain = { ...style, boxes: false }
  const foot = view.hasKeys ? ['', keysLine(view, plain)] : []
  const room = view.rows - HEAD_ROWS - foot.length
  const workers = workerLines(snapshot, plain).slice(0, WORKERS_MAX + 1)
  const queueRows = Math.max(1, room - workers.length - FAILURES_MIN - 4)
  const queues = queueLines(snapshot, view, queueRows, plain)
  const failures = failureLines(snapshot, plain)
  const left = Math.max(FAILURES_MIN, room - queues.length - workers.length - 2)
  const lines = [...headLines(snapshot, view, plain), '', ...queues, '', ...failures.slice(0, left), '', ...workers]
  const shown = lines.slice(0, view.rows - foot.length)
  const blank = Array.from({ length: view.hasKeys ? view.rows - foot.length - shown.length : 0 }, () => '')
  return [...shown, ...blank, ...foot]
}

function headLines({ location, stats }: Snapshot, view: View, style: Style): readonly string[] {
  const state = view.problem ? paint(cut(oneLine(view.problem), 50), 'bad', style) : freshness(view, style)
  const at = `${stats.at.slice(11, 19)} UTC`
  const dot = style.unicode ? ' · ' : ', '
  const room = style.columns - widthOf(`chronos top  ${dot}${at}`) - (view.problem ? 50 : 16)
  return [
    `${paint('chronos top', 'strong', style)}  ${cut(oneLine(location), Math.max(8, room))}${dot}${at}${state === '' ? '' : dot}${state}`,
    `Jobs     ${phaseWords(stats, style)}`,
    `Last 5m  ${activityWords(stats, style)}`,
    `Workers  ${workerWords(stats, style)}`,
  ].map(line => line.trimEnd())
}

function freshness({ isPaused, everyMs, hasKeys }: View, style: Style): string {
  if (!hasKeys) return ''
  return isPaused ? paint('frozen', 'warn', style) : paint(`every ${everyMs / 1_000}s`, 'dim', style)
}

/** The last ones are left out on a narrow terminal. */
const PHASES = ['queued', 'retrying', 'blocked', 'running', 'dead', 'scheduled'] as const

function phaseWords({ jobs }: FleetStats, style: Style): string {
  const parts = PHASES.map(phase => {
    const { tone, word } = PHASE_MARKS[phase]
    const text = `${sign(PHASE_MARKS[phase], style)} ${word} ${countText(jobs[phase])}`
    return jobs[phase].value === 0 ? paint(text, 'dim', style) : paint(text, tone, style)
  })
  return joined(parts, style.columns - 9)
}

function activityWords({ last5m, retryRate, retrySuccessRate }: FleetStats, style: Style): string {
  const { enqueued, succeeded, failed, dead } = last5m
  const parts = [
    `${countText(enqueued)} enqueued`,
    `${countText(succeeded)} succeeded`,
    paint(`${countText(failed)} failed runs`, failed > 0 ? 'warn' : 'dim', style),
    paint(`${countText(dead)} died`, dead > 0 ? 'bad' : 'dim', style),
    retryRate === undefined ? 'no retry rate' : retryRateText(retryRate),
    `retry success ${percentText(retrySuccessRate / 100)}`,
  ]
  return joined(parts, style.columns - 9)
}

function workerWords({ workers, oldestDueAgeMs }: FleetStats, style: Style): string {
  const { alive, silent, running, concurrency } = workers
  const parts = [
    alive === 0
      ? paint('none alive: jobs wait', 'bad', style)
      : `${alive} alive, ${running} of ${concurrency} slots busy`,
    ...(silent > 0 ? [paint(`${silent} silent`, 'odd', style)] : []),
    ...(oldestDueAgeMs === undefined ? [] : [`oldest due job: ${brief(oldestDueAgeMs)}`]),
  ]
  return joined(parts, style.columns - 9)
}

/** As many parts as fit. */
function joined(parts: readonly string[], columns: number): string {
  let text = ''
  for (const part of parts) {
    const longer = text === '' ? part : `${text}   ${part}`
    if (widthOf(bare(longer)) > columns) break
    text = longer
  }
  return text
}

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')
const bare = (text: string): string => text.replace(ESCAPES, '')

const SPARK_FROM_COLUMNS = 96

function queueLines({ queues, stats }: Snapshot, view: View, rows: number, style: Style): readonly string[] {
  if (queues.length === 0) return [paint('No queues yet.', 'dim', style)]
  const at = Math.max(
    0,
    queues.findIndex(({ name }) => name === view.selected),
  )
  const first = Math.min(Math.max(0, at - rows + 2), Math.max(0, queues.length - rows))
  const shown = queues.slice(first, first + rows)
  const hasSpark = style.columns >= SPARK_FROM_COLUMNS
  const columns: readonly Column[] = [
    { title: 'Queue', min: 10 },
    ...['Queued', 'Retrying', 'Running', 'Dead', 'Oldest', 'Workers'].map(
      (title): Column => ({ title, align: 'right' }),
    ),
    ...(hasSpark ? [{ title: 'Last 15 min' }] : []),
  ]
  const cells = shown.map((queue, index) =>
    queueCells(queue, first + index === at && view.hasKeys, timeOf(stats.at), hasSpark, style),
  )
  const lines = table(columns, cells, style).trimEnd().split('\n')
  const hidden = queues.length - shown.length
  return hidden === 0
    ? restored(lines, style)
    : [...restored(lines, style), paint(`  … and ${hidden} more`, 'dim', style)]
}

/** Aligns the title with the names, which have a mark before them. */
function restored(lines: readonly string[], style: Style): readonly string[] {
  const [head = '', ...rest] = lines
  return [paint(bare(head).replace(/^Queue {2}/, '  Queue'), 'strong', style), ...rest]
}

function queueCells(
  queue: QueueReport,
  isSelected: boolean,
  now: number,
  hasSpark: boolean,
  style: Style,
): readonly Cell[] {
  const { name, paused, counts, oldestDueAt, hasWorkers, workers, spark } = queue
  const mark = isSelected ? (style.unicode ? '▸' : '>') : style.unicode ? '·' : '-'
  const label = `${mark} ${cut(oneLine(name), 28)}${paused ? ' (paused)' : ''}`
  const age = oldestDueAt === undefined ? '-' : brief(now - timeOf(oldestDueAt))
  return [
    { text: label, ...(isSelected ? { tone: 'strong' } : paused ? { tone: 'warn' } : {}) } as Cell,
    countText(counts.queued),
    counts.retrying.value > 0 ? { text: countText(counts.retrying), tone: 'warn' } : '0',
    countText(counts.running),
    counts.dead.value > 0 ? { text: countText(counts.dead), tone: 'bad' } : '0',
    age,
    hasWorkers ? String(workers) : { text: 'none', tone: 'bad' },
    ...(hasSpark
      ? [
          sparkline(
            spark.succeeded.map((ok, i) => ok + (spark.failed[i] ?? 0)),
            style,
          ),
        ]
      : []),
  ]
}

function failureLines({ failures, stats }: Snapshot, style: Style): readonly string[] {
  const title = paint('Newest failures', 'strong', style)
  if (failures.length === 0) return [title, paint('  none', 'dim', style)]
  const now = timeOf(stats.at)
  const lines = failures.map(({ lastSeen, title: words, names, dead }) => {
    const head = `  ${padEnd(`${brief(Math.max(0, now - timeOf(lastSeen)))} ago`, 8)} ${padEnd(cut(oneLine(names[0] ?? ''), 20), 20)} `
    const tail = dead > 0 ? ` (${countText(dead)} dead)` : ''
    const room = Math.min(style.columns, 200) - widthOf(head) - widthOf(tail)
    return `${head}${cut(oneLine(words), Math.max(10, room))}${paint(tail, 'bad', style)}`
  })
  return [title, ...lines]
}

function workerLines({ workers }: Snapshot, style: Style): readonly string[] {
  const lines = workers.map(({ state, host, pid, running, concurrency, queues }) => {
    const busy = `${running}/${concurrency}`
    const text = `  ${padEnd(state, 7)}${padEnd(busy, 8)}${oneLine(host)}:${pid}  ${queues.join(', ')}`
    const line = cut(text, Math.min(style.columns, 200))
    return state === 'alive' ? line : paint(line, 'odd', style)
  })
  return [paint('Workers', 'strong', style), ...(lines.length === 0 ? [paint('  none', 'dim', style)] : lines)]
}

function keysLine({ note, isPaused }: View, style: Style): string {
  if (note !== undefined) return paint(cut(oneLine(note), style.columns), 'warn', style)
  const keys = `q quit   j/k select a queue   P pause or resume it   space ${isPaused ? 'continue' : 'freeze'}   +/- slower, faster`
  return paint(cut(keys, style.columns), 'dim', style)
}
