import type { JobView } from '../../../core/job/view.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { type Entry, entryTable } from '../../output/entry-table.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { many, show } from '../../output/show.js'
import { cut, oneLine } from '../../output/width.js'
import { type DeadFilterOptions, deadQueryOf } from '../jobs/filter.js'
import { type PageOptions, pageOf } from '../jobs/list.js'
import { errorText } from '../jobs/note.js'

export interface ListOptions extends BackendOptions, DeadFilterOptions, PageOptions {
  readonly json?: true
}

export async function listDead(options: ListOptions, io: Io): Promise<void> {
  const query = deadQueryOf(options)
  await withBackend(options, io, async backend => {
    const { data, page } = await backend.dead.list(query, pageOf(options))
    const [count, { now }] = await Promise.all([backend.jobs.count({ ...query, state: 'dead' }), backend.info()])
    show(io, options, { data, page, count }, style => (data.length === 0 ? '' : deadTable(data, now, style)))
    if (options.json) return
    const all = `${count.relation === 'exact' ? '' : 'more than '}${many(count.value, 'dead job')}`
    const isAll = page.next === undefined && options.cursor === undefined
    io.stderr.write(`${isAll ? (count.value === 0 ? noneOf(query) : all) : `${data.length} of ${all}`}\n`)
    if (page.next !== undefined) io.stderr.write(`more: --cursor ${page.next}\n`)
  })
}

const noneOf = (query: object): string =>
  Object.keys(query).length === 0 ? 'No job is dead: nothing needs you here.' : 'no dead job matches'

/** The id, the time and the gaps between. */
const OTHER_COLUMNS = 36 + 7 + 6
const NAME_MIN_COLUMNS = 12
const NAME_MAX_COLUMNS = 30
const ERROR_MAX_COLUMNS = 200

export function deadTable(jobs: readonly JobView[], now: number, style: Style): string {
  const reasonColumns = Math.max(...jobs.map(({ reason = '' }) => reason.length))
  const room = style.columns - OTHER_COLUMNS - reasonColumns
  const nameColumns = Math.min(NAME_MAX_COLUMNS, Math.max(NAME_MIN_COLUMNS, room))
  const entries = jobs.map((job): Entry => {
    const error = job.error ? cut(oneLine(errorText(job.error)), ERROR_MAX_COLUMNS) : ''
    const ended = `${brief(now - timeOf(job.finishedAt ?? job.runAt))} ago`
    return {
      cells: [job.id, cut(oneLine(job.name), nameColumns), { text: job.reason ?? '', tone: 'bad' }, ended],
      below: error === '' ? [] : [error],
      beside: [job.queue, error],
    }
  })
  const columns = [{ title: 'Id' }, { title: 'Name' }, { title: 'Reason' }, { title: 'When', align: 'right' }] as const
  return entryTable(columns, ['Queue', 'Error'], entries, style)
}
