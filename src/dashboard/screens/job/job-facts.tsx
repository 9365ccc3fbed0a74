import type { JobView } from '../../../core/job/view.js'
import { duration } from '../../data/format.js'
import { Tags } from '../../parts/badge.js'
import { Copyable, CopyableId } from '../../parts/copyable.js'
import { type Fact, Facts, Panel } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { formOf, queryOf } from '../../policy/policy-form.js'
import { policyWords } from '../../policy/policy-words.js'
import { href, pageOf } from '../../shell/router.js'

/** The fields of a job and its links. */
export function JobFacts({ job }: { readonly job: JobView }) {
  const isLive = job.state === 'waiting' || job.state === 'running'
  return (
    <Panel title="Details">
      <Facts
        facts={[
          ['Policy', <PolicyFact job={job} />],
          ['Priority', `${job.priority}${job.priority === 5 ? ' (default)' : ''}`],
          ['Delivery', job.delivery],
          ['Runs at', isLive && <Time at={job.runAt} />],
          ['Last started', job.startedAt && <Time at={job.startedAt} />],
          ['Ended', job.finishedAt && !isLive && <Time at={job.finishedAt} />],
          ['Deadline', job.deadline && <Time at={job.deadline} />],
          ['Timeout', job.timeoutMs !== undefined && duration(job.timeoutMs)],
          ['Key', job.key !== undefined && <Copyable text={job.key} what="Key" />],
          ['Tenant', job.tenantId !== undefined && <Copyable text={job.tenantId} what="Tenant" />],
          ['Tags', job.tags.length > 0 && <Tags names={job.tags} to={tag => href('/jobs', { tag })} wrap />],
          ['Depends on', job.dependency !== undefined && <Dependency name={job.dependency} />],
          ['Webhook', job.webhook && <code>{job.webhook}</code>],
          ...related(job),
        ]}
      />
    </Panel>
  )
}

function PolicyFact({ job }: { readonly job: JobView }) {
  return (
    <a
      class="link"
      href={href('/policies', queryOf({ preset: 'standard', form: formOf(job.retry) }))}
      data-tip="Open in the simulator"
    >
      {policyWords(job.retry)}
    </a>
  )
}

function Dependency({ name }: { readonly name: string }) {
  return (
    <a class="link" href={href('/dependencies', { q: name })}>
      {name}
    </a>
  )
}

/** The links to related things. */
function related({ scheduleId, fingerprint, redriveId, generation, name, key }: JobView): readonly Fact[] {
  const restarted = generation === 2 ? 'once' : `${generation - 1} times`
  return [
    ['Generation', generation > 1 && `${generation}: restarted ${restarted}`],
    [
      'Schedule',
      scheduleId !== undefined && (
        <a class="link" href={pageOf('schedules', scheduleId)}>
          {scheduleId}
        </a>
      ),
    ],
    [
      'Error group',
      fingerprint !== undefined && (
        <a class="link mono" href={pageOf('dead', fingerprint)}>
          {fingerprint}
        </a>
      ),
    ],
    [
      'Redrive',
      redriveId !== undefined && (
        <span class="row tight">
          <a class="link" href={pageOf('redrives', redriveId)}>
            open
          </a>
          <CopyableId id={redriveId} what="Redrive id" />
        </span>
      ),
    ],
    [
      'Related jobs',
      <span class="row wrap">
        <a class="link" href={href('/jobs', { name })}>
          all {name} jobs
        </a>
        {key !== undefined && (
          <a class="link" href={href('/jobs', { key })}>
            same key
          </a>
        )}
      </span>,
    ],
  ]
}
