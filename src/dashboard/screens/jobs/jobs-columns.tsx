import type { JobView } from '../../../core/job/view.js'
import { shortId } from '../../data/format.js'
import { isTenant } from '../../data/session.js'
import { Tag } from '../../parts/badge.js'
import type { Column } from '../../parts/list/table.js'
import { StateMark } from '../../parts/state.js'
import { Elapsed, Time } from '../../parts/time.js'
import { href, segment } from '../../shell/router.js'
import { MiniTimeline } from '../../timeline/mini-timeline.js'

/** The columns of a list of jobs. */
export function jobColumns(): readonly Column<JobView>[] {
  return [
    {
      key: 'state',
      title: 'State',
      phone: 'head',
      render: job => <StateMark state={job.phase} reason={job.reason} />,
    },
    {
      key: 'name',
      title: 'Job',
      phone: 'head',
      render: job => (
        <span class="stack tight">
          <a class="strong jobs-name" href={href(`/jobs/${segment(job.id)}`)}>
            {titleOf(job)}
          </a>
          <span class="muted mono nowrap jobs-id">{shortId(job.id)}</span>
        </span>
      ),
    },
    {
      key: 'queue',
      title: 'Queue',
      phone: 'hide',
      render: job => (isTenant.value ? job.queue : <a href={href(`/queues/${segment(job.queue)}`)}>{job.queue}</a>),
    },
    {
      key: 'attempts',
      title: 'Attempts',
      render: job => (
        <span class="row tight nowrap">
          <MiniTimeline job={job} />
          <span class="muted">
            {job.attempt} of {job.maxAttempts}
          </span>
        </span>
      ),
    },
    { key: 'when', title: 'When', render: job => <When job={job} /> },
    {
      key: 'error',
      title: 'Last error, tags',
      width: 'grow',
      render: job => (
        <span class="row tight jobs-error">
          {job.error && <span class="clip">{errorLine(job)}</span>}
          {job.tags.slice(0, 3).map(tag => (
            <Tag key={tag} href={href('/jobs', { tag })}>
              {tag}
            </Tag>
          ))}
        </span>
      ),
    },
  ]
}

/** The name of an HTTP job is its method and URL. */
function titleOf(job: JobView): string {
  if (job.name !== 'http') return job.name
  const { method, url } = (job.payload ?? {}) as { readonly method?: unknown; readonly url?: unknown }
  if (typeof url !== 'string') return job.name
  return `${typeof method === 'string' ? method.toUpperCase() : 'GET'} ${url.replace(/^https?:\/\//, '')}`
}

function errorLine({ error }: JobView): string {
  if (!error) return ''
  const line = error.message.split('\n')[0] ?? ''
  return error.name === 'Error' || line.startsWith(error.name) ? line : `${error.name}: ${line}`
}

function When({ job }: { readonly job: JobView }) {
  switch (job.phase) {
    case 'running':
      return (
        <span class="nowrap">
          <span class="muted">for </span>
          <Elapsed since={job.startedAt ?? job.runAt} />
        </span>
      )
    case 'scheduled':
    case 'retrying':
    case 'queued':
      return (
        <span class="nowrap">
          <span class="muted">{job.phase === 'queued' ? 'due ' : 'next '}</span>
          <Time at={job.runAt} />
        </span>
      )
    default:
      return <Time at={job.finishedAt ?? job.runAt} />
  }
}
