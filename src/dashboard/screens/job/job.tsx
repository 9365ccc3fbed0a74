import { present } from '../../../core/values/present.js'
import { Link } from '../../parts/link.js'
import './job.css'
import { useEffect, useMemo } from 'preact/hooks'
import { type Timeline, timelineOf } from '../../../core/job/timeline.js'
import type { JobTimeline } from '../../../engine/jobs/timeline.js'
import type { AxisMode } from '../../charts/scale.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { jobTitle, shortId } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import type { ScreenProps } from '../../lazy.js'
import { Button } from '../../parts/button.js'
import { CopyableId } from '../../parts/copyable.js'
import { Empty, ProblemPanel, Skeleton } from '../../parts/empty.js'
import { Json } from '../../parts/json.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { StateMark, stateOf, stateReason } from '../../parts/state.js'
import { Time } from '../../parts/time.js'
import { href, navigate, pageOf, query, setQuery } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { AttemptTimeline } from '../../timeline/attempt-timeline.js'
import { JobActions } from './job-actions.js'
import { Attempts } from './job-attempts.js'
import { JobFacts } from './job-facts.js'
import { Story } from './job-story.js'

/** One job: timeline, explanation, attempts, details and actions. */
export default function JobScreen({ params }: ScreenProps) {
  const id = params['id']!
  const life = useQuery(`timeline ${id}`, signal => api.jobs.timeline(id, signal), { topics: ['jobs'] })
  const told = useQuery(`explain ${id}`, signal => api.jobs.explain(id, signal), {
    topics: ['jobs', 'queues', 'circuits', 'workers'],
  })
  const { data, problem } = life
  const isSchedule = data?.job.scheduleId === id
  useEffect(() => {
    if (isSchedule) navigate(pageOf('schedules', id), { replace: true })
  }, [isSchedule, id])
  useTitle(data ? `${data.job.name} ${shortId(id)}` : `Job ${shortId(id)}`)
  if (problem?.status === 404) return <Gone id={id} isKnown={data !== undefined} />
  if (!data || isSchedule)
    return problem ? (
      <ProblemPanel problem={problem} onRetry={life.refetch} />
    ) : life.isSlow ? (
      <Skeleton lines={12} />
    ) : null
  const refetch = (): void => {
    life.refetch()
    told.refetch()
  }
  const { job } = data
  return (
    <div class="stack job">
      <PageHead
        up={{ href: href('/jobs'), text: 'Jobs' }}
        title={jobTitle(job.name, job.payload)}
        sub={
          <span class="row wrap">
            <StateMark state={stateOf(job)} reason={stateReason(job)} as="badge" />
            <Link to={pageOf('queues', job.queue)} text={job.queue} />
            <CopyableId id={job.id} />
            <span>{attemptWords(data)}</span>
            <span class="muted">
              created <Time at={job.createdAt} />
            </span>
          </span>
        }
        actions={<JobActions job={job} onChange={refetch} />}
      />
      {problem && <ProblemPanel problem={problem} onRetry={life.refetch} />}
      <Panel stale={life.isStale}>
        <LiveTimeline data={data} />
      </Panel>
      <div class="columns main-aside">
        <div class="stack">
          <Story told={told} />
          <Attempts data={data} />
        </div>
        <div class="stack">
          <JobFacts job={job} />
          <Payload data={data} />
        </div>
      </div>
    </div>
  )
}

function attemptWords({ job }: JobTimeline): string {
  if (job.attempt === 0) return `not run yet, up to ${job.maxAttempts} attempts`
  return `attempt ${job.attempt} of ${Math.max(job.attempt, job.maxAttempts)}`
}

const MODES: readonly AxisMode[] = ['compressed', 'linear', 'log']

/** Redrawn every second while the job is active, without a request. */
function LiveTimeline({ data }: { readonly data: JobTimeline }) {
  const { job, attempts, ghosts, dies, deadline } = data
  const isLive = job.state === 'waiting' || job.state === 'running'
  const at = isLive ? Math.max(now.value, data.now) : data.now
  const facts = useMemo(() => {
    const timeline: Timeline = timelineOf(job, attempts, at)
    return present({ ...timeline, ghosts, dies, deadline })
  }, [data, at])
  const mode = MODES.find(each => each === query.value['axis']) ?? 'compressed'
  const run = query.value['run']
  return (
    <AttemptTimeline
      facts={facts}
      mode={mode}
      onMode={chosen => setQuery({ axis: chosen === 'compressed' ? undefined : chosen }, { replace: true })}
      selected={run === undefined ? undefined : Number(run)}
      onSelect={chosen => setQuery({ run: String(chosen) }, { replace: true })}
      ending={isLive ? undefined : job.state}
    />
  )
}

function Payload({ data: { job } }: { readonly data: JobTimeline }) {
  const isCall = job.name === 'http'
  return (
    <>
      <Panel title={isCall ? 'Request' : 'Payload'}>
        <Json value={job.payload} what={isCall ? 'Request' : 'Payload'} />
      </Panel>
      {job.progress !== undefined && job.state === 'running' && (
        <Panel title="Progress">
          <Json value={job.progress} what="Progress" />
        </Panel>
      )}
      {job.result !== undefined && (
        <Panel title={isCall ? 'Response' : 'Result'}>
          <Json value={job.result} what={isCall ? 'Response' : 'Result'} />
        </Panel>
      )}
    </>
  )
}

/** The job does not exist, or no longer. */
function Gone({ id, isKnown }: { readonly id: string; readonly isKnown: boolean }) {
  return (
    <>
      <PageHead up={{ href: href('/jobs'), text: 'Jobs' }} title={`Job ${shortId(id)}`} />
      <Empty
        icon="search"
        title={isKnown ? 'Job deleted' : 'Job not found'}
        actions={
          <>
            <Button text="Show all jobs" href={href('/jobs')} />
            <Button text="Search audit log" href={href('/audit', { q: id })} />
            <Button text="Open as schedule" href={pageOf('schedules', id)} />
          </>
        }
      >
        {isKnown
          ? 'The job was deleted or pruned after its retention.'
          : 'The job may have been deleted or pruned after its retention, or the id is mistyped.'}{' '}
        <code>{id}</code>
      </Empty>
    </>
  )
}
