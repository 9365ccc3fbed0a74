import type { JobView } from '../../../core/job/view.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { type PageOptions, pageOf } from '../../list.js'
import { type Entry, entryTable } from '../../output/entry-table.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { cut, oneLine } from '../../output/width.js'
import { type DeadFilterOptions, deadQueryOf } from '../jobs/filter.js'
import { showJobs } from '../jobs/list.js'
import { errorText } from '../jobs/note.js'

interface ListOptions extends BackendOptions, DeadFilterOptions, PageOptions {}

export async function listDead(options: ListOptions, io: Io): Promise<void> {
  const query = deadQueryOf(options)
  const none = Object.keys(query).length === 0 ? 'no dead jobs' : 'no dead job matches'
  await withBackend(options, io, async backend => {
    const read = backend.dead.list(query, pageOf(options))
    await showJobs(backend, read, { ...query, state: 'dead' }, { noun: 'dead job', none, text: deadTable }, options, io)
  })
}

/** Columns of the id, the time and the gaps. */
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
