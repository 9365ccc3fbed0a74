import { formatMs } from '../../../core/values/duration.js'
import type { Rate } from '../../../core/values/rate.js'
import type { RedriveView } from '../../../engine/dead/redrives.js'
import { type Backend, withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { absolute, brief, relative, timeOf } from '../../output/moment.js'
import { type Cell, type Column, paint, type Style, table } from '../../output/print.js'
import { countText, hang, many, show } from '../../output/show.js'
import { markCell, markText, REDRIVE_MARKS } from '../../output/symbols.js'
import { oneLine, padEnd } from '../../output/width.js'
import { type PageOptions, pageOf } from '../jobs/list.js'
import { endWords, follow } from './follow.js'
import { barOf, filterWords, leftWords, progressWords, wholeOf } from './words.js'

export interface RedriveCommandOptions extends BackendOptions {
  readonly json?: true
}

export async function listRedrives(options: RedriveCommandOptions & PageOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const { data, page } = await backend.redrives.list(pageOf(options))
    const { now } = await backend.info()
    show(io, options, { data, page }, style => (data.length === 0 ? '' : redriveTable(data, now, style)))
    if (options.json) return
    const none = 'no redrive yet: `chronos dead redrive` starts one\n'
    io.stderr.write(data.length === 0 ? none : `${many(data.length, 'redrive')}\n`)
    if (page.next !== undefined) io.stderr.write(`more: --cursor ${page.next}\n`)
  })
}

interface Field {
  readonly column: Column
  /** Shown on terminals of so many columns. */
  readonly from: number
  cell(redrive: RedriveView, now: number, style: Style): Cell
}

const FIELDS: readonly Field[] = [
  { column: { title: 'Id' }, from: 0, cell: ({ id }) => id },
  { column: { title: 'State' }, from: 0, cell: ({ state }, _, style) => markCell(REDRIVE_MARKS[state], style) },
  { column: { title: 'Started', align: 'right' }, from: 0, cell: ({ started }) => countText(started) },
  { column: { title: 'Of', align: 'right' }, from: 90, cell: redrive => countText(wholeOf(redrive)) },
  {
    column: { title: 'Failing', align: 'right' },
    from: 0,
    cell: ({ failing }) => (failing > 0 ? { text: countText(failing), tone: 'bad' } : '0'),
  },
  { column: { title: 'Rate', align: 'right' }, from: 90, cell: ({ rate }) => rate },
  {
    column: { title: 'Begun', align: 'right' },
    from: 0,
    cell: ({ createdAt }, now) => `${brief(now - timeOf(createdAt))} ago`,
  },
  { column: { title: 'Which', wraps: true }, from: 110, cell: ({ filter }) => filterWords(filter, absolute) },
]

function redriveTable(redrives: readonly RedriveView[], now: number, given: Style): string {
  const style = { ...given, boxes: false }
  const fields = FIELDS.filter(({ from }) => style.columns >= from)
  const rows = redrives.map(redrive => fields.map(({ cell }) => cell(redrive, now, style)))
  return table(
    fields.map(({ column }) => column),
    rows,
    style,
  )
}

export async function getRedrive(
  id: string,
  options: RedriveCommandOptions & { readonly follow?: true },
  io: Io,
): Promise<number> {
  return withBackend(options, io, async backend => {
    if (options.follow) return follow(backend, (await backend.redrives.get(id)).id, options, io)
    const [redrive, { now }] = await Promise.all([backend.redrives.get(id), backend.info()])
    show(io, options, redrive, style => cardOf(redrive, now, style))
    return EXIT.ok
  })
}

const LABEL_COLUMNS = 9
const BAR_COLUMNS = 40
const CONFLICTS_SHOWN = 10

function cardOf(redrive: RedriveView, now: number, style: Style): string {
  const { id, state, why, rate, canary, stopWhenFailing, createdAt, finishedAt, conflicts, filter } = redrive
  const when = (at: string): string => `${absolute(at)} (${relative(at, now)})`
  const took = finishedAt === undefined ? '' : `, after ${formatMs(timeOf(finishedAt) - timeOf(createdAt))}`
  const rows: readonly (readonly [label: string, words: string | undefined])[] = [
    ['why', why],
    ['which', filterWords(filter, absolute)],
    ['pace', `${canary === 0 ? 'no canary' : `${countText(canary)} first`}, then up to ${rate}`],
    ['rule', `stops when more than ${Math.round(100 * stopWhenFailing)} % fail again`],
    ['begun', when(createdAt)],
    ['ended', finishedAt && `${when(finishedAt)}${took}`],
    ...leftWords(redrive).map(words => ['not sent', words] as const),
    ...conflicts
      .slice(0, CONFLICTS_SHOWN)
      .map(({ jobId, conflictId }) => ['conflict', `${jobId} with ${conflictId}`] as const),
  ]
  const lines = rows.flatMap(([label, words]) =>
    words === undefined
      ? []
      : [hang(`  ${paint(padEnd(label, LABEL_COLUMNS), 'dim', style)}  `, LABEL_COLUMNS + 4, words, style)],
  )
  const head = `${paint(id, 'strong', style)}  ${markText(REDRIVE_MARKS[state], style)}\n`
  return `${head}${barOf(redrive, BAR_COLUMNS, style)}\n${progressWords(redrive)}\n\n${lines.join('')}`
}

type Change = (backend: Backend, id: string) => Promise<RedriveView>

export const CHANGES = {
  pause: ({ redrives }, id) => redrives.pause(id),
  resume: ({ redrives }, id) => redrives.resume(id),
  abort: ({ redrives }, id) => redrives.abort(id),
} as const satisfies Record<string, Change>

export async function changeRedrive(
  name: keyof typeof CHANGES,
  id: string,
  options: RedriveCommandOptions,
  io: Io,
): Promise<void> {
  await change(CHANGES[name], id, options, io)
}

export async function setRate(id: string, rate: Rate, options: RedriveCommandOptions, io: Io): Promise<void> {
  await change(({ redrives }) => redrives.setRate(id, rate), id, options, io)
}

async function change(act: Change, id: string, options: RedriveCommandOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const redrive = await act(backend, id)
    show(io, options, redrive, style => {
      const state = markText(REDRIVE_MARKS[redrive.state], style)
      return `redrive ${oneLine(redrive.id)} ${state}, up to ${redrive.rate}: ${endWords(redrive)}\n`
    })
  })
}
