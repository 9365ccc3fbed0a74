import type { JobView } from '../../../core/job/view.js'
import { present } from '../../../core/values/present.js'
import { duration, shortId } from '../../data/format.js'
import { Link } from '../../parts/link.js'
import type { Column } from '../../parts/list/table.js'
import { StateMark, stateOf } from '../../parts/state.js'
import { Time } from '../../parts/time.js'
import { pageOf } from '../../shell/router.js'

export const DELIVERY_COLUMNS: readonly Column<JobView>[] = [
  {
    title: 'State',
    phone: 'head',
    render: job => <StateMark state={stateOf(job)} reason={job.reason} />,
  },
  { title: 'Event', phone: 'head', render: job => <code>{messageOf(job).type ?? '–'}</code> },
  { title: 'Job', width: 'grow', render: job => <About job={job} /> },
  {
    title: 'Response',
    align: 'end',
    render: job => <span data-tip={job.error?.message.split('\n')[0]}>{responseOf(job)}</span>,
  },
  { title: 'Duration', align: 'end', phone: 'hide', render: job => durationOf(job) },
  {
    title: 'Attempts',
    align: 'end',
    phone: 'hide',
    render: ({ attempt, maxAttempts }) => `${attempt} of ${maxAttempts}`,
  },
  { title: 'Time', render: ({ finishedAt, startedAt, runAt }) => <Time at={finishedAt ?? startedAt ?? runAt} /> },
]

interface Message {
  readonly type?: string
  readonly jobId?: string
  readonly name?: string
}

/** The event of a delivery and the job that it reports. */
function messageOf({ payload }: JobView): Message {
  const { type, body } = (payload ?? {}) as { readonly type?: string; readonly body?: string }
  try {
    const { data = {} } = JSON.parse(body ?? '{}') as { readonly data?: Message }
    return present({ type, jobId: data.jobId, name: data.name })
  } catch {
    return present({ type })
  }
}

/** The job that a delivery reports. */
export function About({ job }: { readonly job: JobView }) {
  const { jobId, name } = messageOf(job)
  if (jobId === undefined) return <span class="muted">–</span>
  return <Link to={pageOf('jobs', jobId)} text={`${name ?? 'job'} ${shortId(jobId)}`} />
}

/** The status of the last response; a delivery that failed without one shows the code of its error. */
function responseOf({ error, result }: JobView): string {
  const { status } = (result ?? {}) as { readonly status?: number }
  if (status !== undefined) return String(status)
  return error?.status === undefined ? (error?.code ?? '–') : String(error.status)
}

/** The duration of the last attempt that has ended. */
function durationOf({ startedAt, failedAt, finishedAt }: JobView): string {
  const endedAt = finishedAt ?? failedAt
  if (startedAt === undefined || endedAt === undefined) return '–'
  return duration(Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)))
}
