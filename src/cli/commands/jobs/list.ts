import type { JobView } from '../../../core/job/view.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { brief, timeOf } from '../../output/moment.js'
import { type Cell, type Column, type Style, table } from '../../output/print.js'
import { many, show } from '../../output/show.js'
import { markCell, PHASE_MARKS } from '../../output/symbols.js'
import { cut, oneLine, widthOf } from '../../output/width.js'
import { type FilterOptions, queryOf } from './filter.js'
import { errorText } from './note.js'

export interface PageOptions {
  readonly limit?: number
  readonly cursor?: string
}

export interface ListOptions extends BackendOptions, FilterOptions, PageOptions {
  readonly json?: true
}

export async function listJobs(options: ListOptions, io: Io): Promise<void> {
  const query = queryOf(options)
  await withBackend(options, io, async backend => {
    const { data, page } = await backend.jobs.list(query, pageOf(options))
    const [count, { now }] = await Promise.all([backend.jobs.count(query), backend.info()])
    show(io, options, { data, page, count }, style => (data.length === 0 ? '' : jobTable(data, now, style)))
    if (options.json) return
    const all = `${count.relation === 'exact' ? '' : 'more than '}${many(count.value, 'job')}`
    const isAll = page.next === undefined && options.cursor === undefined
    io.stderr.write(`${isAll ? all : `${data.length} of ${all}`}\n`)
    if (page.next !== undefined) io.stderr.write(`more: --cursor ${page.next}\n`)
  })
}

export function pageOf({ limit, cursor }: PageOptions): { limit?: number; cursor?: string } {
  return { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
}

const TRIES_FROM_COLUMNS = 90
const QUEUE_FROM_COLUMNS = 100
/** All but the names, where the terminal is small. */
const OTHER_COLUMNS = 60
const NAME_MIN_COLUMNS = 12
const NAME_MAX_COLUMNS = 30
const WHY_MIN_COLUMNS = 24
const WHY_MAX_COLUMNS = 60

/** Without lines around it: the ids take half of a small terminal. What does not fit beside them is left out. */
export function jobTable(jobs: readonly JobView[], now: number, given: Style): string {
  const style = { ...given, boxes: false }
  const fields = FIELDS.filter(({ from }) => style.columns >= from)
  const rows = jobs.map(job => fields.map(({ cell }) => cell(job, now, style)))
  const columns = fields.map(({ column }) => column)
  const lines = table(columns, rows, { ...style, colour: false }).split('\n')
  const room = style.columns - Math.max(...lines.map(widthOf)) - 2
  if (room < WHY_MIN_COLUMNS) return table(columns, rows, style)
  const why = (job: JobView): Cell => ({ text: cut(oneLine(whyOf(job)), Math.min(room, WHY_MAX_COLUMNS)), tone: 'dim' })
  return table(
    [...columns, { title: 'Why' }],
    rows.map((row, i) => [...row, why(jobs[i]!)]),
    style,
  )
}

function nameRoom(columns: number): number {
  return Math.min(NAME_MAX_COLUMNS, Math.max(NAME_MIN_COLUMNS, columns - OTHER_COLUMNS))
}

interface Field {
  readonly column: Column
  /** Shown on terminals of so many columns. */
  readonly from: number
  cell(job: JobView, now: number, style: Style): Cell
}

const FIELDS: readonly Field[] = [
  { column: { title: 'Id' }, from: 0, cell: job => job.id },
  { column: { title: 'Name' }, from: 0, cell: ({ name }, _, { columns }) => cut(oneLine(name), nameRoom(columns)) },
  { column: { title: 'Queue' }, from: QUEUE_FROM_COLUMNS, cell: job => job.queue },
  { column: { title: 'State' }, from: 0, cell: (job, _, style) => markCell(PHASE_MARKS[job.phase], style) },
  { column: { title: 'Tries' }, from: TRIES_FROM_COLUMNS, cell: job => `${job.attempt}/${job.maxAttempts}` },
  { column: { title: 'When', align: 'right' }, from: 0, cell: (job, now) => whenOf(job, now) },
]

/** The time that matters in its phase. */
function whenOf(job: JobView, now: number): string {
  const runAt = timeOf(job.runAt)
  switch (job.phase) {
    case 'scheduled':
    case 'retrying':
      return runAt > now ? `in ${brief(runAt - now)}` : `due ${brief(now - runAt)}`
    case 'queued':
      return `due ${brief(Math.max(0, now - runAt))}`
    case 'running':
      return `for ${brief(now - timeOf(job.startedAt ?? job.runAt))}`
    case 'succeeded':
    case 'dead':
    case 'cancelled':
      return `${brief(now - timeOf(job.finishedAt ?? job.runAt))} ago`
  }
}

function whyOf({ reason, error }: JobView): string {
  return [reason, error && errorText(error)].filter(text => text !== undefined).join(': ')
}
