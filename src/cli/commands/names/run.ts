import { formatMs } from '../../../core/values/duration.js'
import { percentText, rateText } from '../../../core/values/number.js'
import { present } from '../../../core/values/present.js'
import type { NameReport, NameSummary } from '../../../engine/names/view.js'
import { type Field, type Listing, NONE } from '../../list.js'
import { absolute } from '../../output/moment.js'
import { type Cell, type Column, paint, type Style, table } from '../../output/print.js'
import { countText, many } from '../../output/show.js'
import { sparkline } from '../../output/sparkline.js'
import { oneLine, padEnd } from '../../output/width.js'
import { type RangeOptions, rangeOf } from './range.js'

type Figures = Pick<NameSummary, 'started' | 'perMinute' | 'failed' | 'dead' | 'failureShare' | 'runMs' | 'waitMs'>

const LABEL_COLUMNS = 14

const duration = (ms: number | undefined): Cell => (ms === undefined ? NONE : formatMs(ms))
const failureCell = ({ failed, failureShare }: Figures): Cell =>
  failed > 0 ? { text: percentText(failureShare), tone: 'bad' } : percentText(failureShare ?? 0)

const FIGURES: readonly Field<Figures>[] = [
  { title: 'Runs', align: 'right', cell: ({ started }) => countText(started) },
  { title: 'Rate', align: 'right', cell: ({ perMinute }) => rateText(perMinute) },
  { title: 'Failed', align: 'right', cell: failureCell },
  { title: 'Dead', align: 'right', cell: ({ dead }) => countText(dead) },
  { title: 'Run p50', align: 'right', cell: ({ runMs }) => duration(runMs?.p50) },
  { title: 'p95', align: 'right', cell: ({ runMs }) => duration(runMs?.p95) },
  { title: 'p99', align: 'right', from: 90, cell: ({ runMs }) => duration(runMs?.p99) },
  { title: 'Wait p50', align: 'right', from: 100, cell: ({ waitMs }) => duration(waitMs?.p50) },
  { title: 'p95', align: 'right', cell: ({ waitMs }) => duration(waitMs?.p95) },
]

interface ListOptions extends RangeOptions {
  readonly queue?: string
  readonly find?: string
}

export const NAMES: Listing<NameSummary, readonly [ListOptions]> = {
  noun: 'job name',
  none: 'no job names: no job was enqueued, run or ended in this time',
  read: ({ names }, { queue, find: q, ...range }) => names.list({ ...rangeOf(range), ...present({ queue, q }) }),
  text: [
    { title: 'Name', cell: ({ name }) => name },
    ...FIGURES,
    { title: 'Queues', from: 120, cell: ({ queues }) => queues.join(', ') },
  ],
}

const line = (label: string, words: string): string => `  ${padEnd(label, LABEL_COLUMNS)}${words}\n`

export function nameText(report: NameReport, style: Style): string {
  const { name, from, to, started, failed, dead, retries, failureShare, perMinute, runMs, waitMs, complete } = report
  const spread = (of: NameReport['runMs']): string =>
    of ? `p50 ${formatMs(of.p50)}, p95 ${formatMs(of.p95)}, p99 ${formatMs(of.p99)}` : 'no percentiles'
  const trend = (values: readonly number[]): string => (started > 0 ? `  ${sparkline(values, style)}` : '')
  const shown = report.points.slice(-Math.max(20, style.columns - 60))
  const head = [
    `${paint(oneLine(name), 'strong', style)}, ${absolute(from)} to ${absolute(to)}\n`,
    line('runs', `${countText(started)}, ${rateText(perMinute)}${trend(shown.map(({ runs }) => runs))}`),
    line(
      'failed',
      `${countText(failed)} (${percentText(failureShare ?? 0)}), ${many(retries, 'retry', 'retries')}, ${countText(dead)} dead`,
    ),
    line('run time', `${spread(runMs)}${trend(shown.map(point => point.runMs?.p95 ?? 0))}`),
    line('wait', `${spread(waitMs)}${trend(shown.map(point => point.waitMs?.p95 ?? 0))}`),
    ...(complete ? [] : [line('note', 'there is too much to read: the oldest is left out; choose a shorter range')]),
  ].join('')
  return [head, ...partsOf(report, style)].join('\n')
}

function partsOf(report: NameReport, style: Style): readonly string[] {
  const { queues, errors, slowest, mostRetried, workers } = report
  const part = (title: string, columns: readonly Column[], rows: readonly (readonly Cell[])[]): readonly string[] =>
    rows.length === 0 ? [] : [`${paint(title, 'strong', style)}\n${table(columns, rows, { ...style, boxes: false })}`]
  const fields = FIGURES.filter(({ from = 0 }) => style.columns >= from)
  const job = ({
    queue,
    state,
  }: NameReport['slowest'][number] | NameReport['mostRetried'][number]): readonly Cell[] => [
    queue ?? NONE,
    state ?? { text: 'removed', tone: 'dim' },
  ]
  const right = 'right' as const
  return [
    ...part(
      'Queues',
      [{ title: 'Queue' }, ...fields],
      queues.map(queue => [queue.queue, ...fields.map(({ cell }) => cell(queue, 0, style))]),
    ),
    ...part(
      'Top errors',
      [{ title: 'Failed runs', align: right }, { title: 'Group' }, { title: 'Error', wraps: true }],
      errors.map(({ failures, fingerprint, title }) => [countText(failures), fingerprint, title]),
    ),
    ...part(
      'Slowest runs',
      [{ title: 'Run time', align: right }, { title: 'Job' }, { title: 'Queue' }, { title: 'State' }],
      slowest.map(each => [formatMs(each.runMs), each.id, ...job(each)]),
    ),
    ...part(
      'Most retried jobs',
      [{ title: 'Attempts', align: right }, { title: 'Job' }, { title: 'Queue' }, { title: 'State' }],
      mostRetried.map(each => [countText(each.attempts), each.id, ...job(each)]),
    ),
    ...part(
      'Workers',
      [{ title: 'Worker' }, { title: 'Host' }, { title: 'Busy', align: right }],
      workers.map(({ id, host, running, concurrency }) => [id, host, `${running}/${concurrency}`]),
    ),
  ]
}
