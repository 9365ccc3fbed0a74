import type { JobView } from '../../../core/job/view.js'
import { now } from '../../data/clock.js'
import { jobTitle, shortId } from '../../data/format.js'
import { isTenant } from '../../data/session.js'
import { Tag } from '../../parts/badge.js'
import { Link } from '../../parts/link.js'
import type { Column } from '../../parts/list/table.js'
import { StateMark, stateOf, stateReason } from '../../parts/state.js'
import { Elapsed, Time } from '../../parts/time.js'
import { href, pageOf, query } from '../../shell/router.js'
import { MiniTimeline } from '../../timeline/mini-timeline.js'

export function jobColumns(): readonly Column<JobView>[] {
  return [
    { title: 'State', phone: 'head', render: job => <StateMark state={stateOf(job)} reason={stateReason(job)} /> },
    {
      title: 'Job',
      phone: 'head',
      render: job => (
        <span class="stack tight">
          <Link
            to={pageOf('jobs', job.id)}
            look="strong jobs-name"
            text={jobTitle(job.name, job.payload).replace(/https?:\/\//, '')}
          />
          <span class="muted mono nowrap jobs-id">{shortId(job.id)}</span>
          <Snippet job={job} />
        </span>
      ),
    },
    {
      title: 'Queue',
      phone: 'hide',
      render: job => (isTenant.value ? job.queue : <a href={pageOf('queues', job.queue)}>{job.queue}</a>),
    },
    {
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
    { title: 'When', render: job => <When job={job} /> },
    {
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

const AROUND = 30

/** Where the searched text was found, unless the row shows it anyway. */
function Snippet({ job }: { readonly job: JobView }) {
  const { q } = query.value
  if (q === undefined || q === '') return null
  const texts = [job.key, job.tags.join(' '), JSON.stringify(job.payload), job.error?.message]
  const found = texts.find(text => text?.toLowerCase().includes(q.toLowerCase()))
  if (found === undefined) return null
  const at = found.toLowerCase().indexOf(q.toLowerCase())
  const [from, to] = [Math.max(0, at - AROUND), at + q.length + AROUND]
  return (
    <span class="jobs-snippet muted">
      {from > 0 && '…'}
      {found.slice(from, at)}
      <mark>{found.slice(at, at + q.length)}</mark>
      {found.slice(at + q.length, to)}
      {to < found.length && '…'}
    </span>
  )
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
          <span class="muted">{Date.parse(job.runAt) <= now.value ? 'due ' : 'next '}</span>
          <Time at={job.runAt} />
        </span>
      )
    case 'blocked':
      return (
        <span class="nowrap">
          <span class="muted">due </span>
          {job.blockedBy === 'queue-paused' ? <Time at={job.runAt} /> : 'when released'}
        </span>
      )
    default:
      return <Time at={job.finishedAt ?? job.runAt} />
  }
}
