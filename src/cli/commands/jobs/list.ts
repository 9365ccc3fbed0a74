import type { JobView } from '../../../core/job/view.js'
import { BLOCK_WORDS } from '../../../core/job/wait-reason.js'
import type { JobQuery, List } from '../../../engine/jobs/query.js'
import { type Backend, withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { type Field, fieldTable, type PageOptions, pageOf, sayMore } from '../../list.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { manyOf, show } from '../../output/show.js'
import { markCell, PHASE_MARKS } from '../../output/symbols.js'
import { cut, oneLine, widthOf } from '../../output/width.js'
import { type FilterOptions, queryOf } from './filter.js'
import { errorText } from './note.js'

interface ListOptions extends BackendOptions, FilterOptions, PageOptions {
  readonly internal?: true
}

export async function listJobs(options: ListOptions, io: Io): Promise<void> {
  const query = withoutInternal(queryOf(options), options)
  await withBackend(options, io, async backend => {
    const read = backend.jobs.list(query, pageOf(options))
    await showJobs(backend, read, query, { noun: 'job', none: '0 jobs', text: jobTable }, options, io)
  })
}

/** Webhook deliveries are shown if they are asked for: with `--internal`, or by their queue or name. */
function withoutInternal(query: JobQuery, { internal }: ListOptions): JobQuery {
  const isAsked = internal || [query.queue, query.name].some(each => each?.startsWith('chronos:'))
  return isAsked ? query : { ...query, internal: false }
}

interface JobListing {
  readonly noun: string
  readonly none: string
  readonly text: (jobs: readonly JobView[], now: number, style: Style) => string
}

/** One page of jobs with the number of all that match: counting stops somewhere, so a page cannot say it alone. */
export async function showJobs(
  backend: Backend,
  read: Promise<List<JobView>>,
  query: JobQuery,
  { noun, none, text }: JobListing,
  options: BackendOptions & PageOptions,
  io: Io,
): Promise<void> {
  const { data, page } = await read
  const [count, { now }] = await Promise.all([backend.jobs.count(query), backend.info()])
  show(io, options, { data, page, count }, style => (data.length === 0 ? '' : text(data, now, style)))
  if (options.json) return
  const all = count.value === 0 ? none : manyOf(count, noun)
  const isAll = page.next === undefined && options.cursor === undefined
  io.stderr.write(`${isAll ? all : `${data.length} of ${all}`}\n`)
  sayMore(page.next, io)
}

/** Columns of everything but the name on a small terminal. */
const OTHER_COLUMNS = 60
const NAME_MIN_COLUMNS = 12
const NAME_MAX_COLUMNS = 30
const WHY_MIN_COLUMNS = 24
const WHY_MAX_COLUMNS = 60

/** The columns that fit; the reason fills the rest of the line. */
export function jobTable(jobs: readonly JobView[], now: number, style: Style): string {
  const lines = fieldTable(FIELDS, jobs, now, { ...style, colour: false }).split('\n')
  const room = style.columns - Math.max(...lines.map(widthOf)) - 2
  if (room < WHY_MIN_COLUMNS) return fieldTable(FIELDS, jobs, now, style)
  const columns = Math.min(room, WHY_MAX_COLUMNS)
  const why: Field<JobView> = { title: 'Why', cell: job => ({ text: cut(oneLine(whyOf(job)), columns), tone: 'dim' }) }
  return fieldTable([...FIELDS, why], jobs, now, style)
}

function nameRoom(columns: number): number {
  return Math.min(NAME_MAX_COLUMNS, Math.max(NAME_MIN_COLUMNS, columns - OTHER_COLUMNS))
}

const FIELDS: readonly Field<JobView>[] = [
  { title: 'Id', cell: ({ id }) => id },
  { title: 'Name', cell: ({ name }, _, { columns }) => cut(oneLine(name), nameRoom(columns)) },
  { title: 'Queue', from: 100, cell: ({ queue }) => queue },
  { title: 'State', cell: ({ phase }, _, style) => markCell(PHASE_MARKS[phase], style) },
  { title: 'Attempts', from: 90, cell: ({ attempt, maxAttempts }) => `${attempt}/${maxAttempts}` },
  { title: 'When', align: 'right', cell: whenOf },
]

/** The time that matters most in its phase. */
function whenOf(job: JobView, now: number): string {
  const runAt = timeOf(job.runAt)
  switch (job.phase) {
    case 'scheduled':
    case 'retrying':
      return runAt > now ? `in ${brief(runAt - now)}` : `due ${brief(now - runAt)}`
    case 'queued':
      return `due ${brief(Math.max(0, now - runAt))}`
    case 'blocked':
      return runAt > now ? `within ${brief(runAt - now)}` : `due ${brief(now - runAt)}`
    case 'running':
      return `for ${brief(now - timeOf(job.startedAt ?? job.runAt))}`
    case 'succeeded':
    case 'dead':
    case 'cancelled':
      return `${brief(now - timeOf(job.finishedAt ?? job.runAt))} ago`
  }
}

function whyOf({ reason, blockedBy, error }: JobView): string {
  return [reason, blockedBy && BLOCK_WORDS[blockedBy], error && errorText(error)]
    .filter(text => text !== undefined)
    .join(': ')
}
