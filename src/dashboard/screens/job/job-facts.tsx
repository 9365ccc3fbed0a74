import type { JobView } from '../../../core/job/view.js'
import { duration } from '../../data/format.js'
import { Tag } from '../../parts/badge.js'
import { Copyable, CopyableId } from '../../parts/copyable.js'
import { Facts, Panel } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { formOf, queryOf } from '../../policy/policy-form.js'
import { policyWords } from '../../policy/policy-words.js'
import { href, segment } from '../../shell/router.js'

/** The fields of a job and its links. */
export function JobFacts({ job }: { readonly job: JobView }) {
  const isLive = job.state === 'waiting' || job.state === 'running'
  return (
    <Panel title="Details">
      <Facts
        facts={[
          ['Policy', <PolicyFact key="policy" job={job} />],
          ['Priority', `${job.priority}${job.priority === 5 ? ' (default)' : ''}`],
          ['Delivery', job.delivery],
          isLive ? ['Runs at', <Time key="runs" at={job.runAt} />] : undefined,
          job.startedAt ? ['Last started', <Time key="started" at={job.startedAt} />] : undefined,
          job.finishedAt && !isLive ? ['Ended', <Time key="ended" at={job.finishedAt} />] : undefined,
          job.deadline ? ['Deadline', <Time key="deadline" at={job.deadline} />] : undefined,
          job.timeoutMs === undefined ? undefined : ['Timeout', duration(job.timeoutMs)],
          job.key === undefined ? undefined : ['Key', <Copyable key="key" text={job.key} what="Key" />],
          job.tenantId === undefined
            ? undefined
            : ['Tenant', <Copyable key="tenant" text={job.tenantId} what="Tenant" />],
          job.tags.length === 0
            ? undefined
            : [
                'Tags',
                <span key="tags" class="row wrap tight">
                  {job.tags.map(tag => (
                    <Tag key={tag} href={href('/jobs', { tag })}>
                      {tag}
                    </Tag>
                  ))}
                </span>,
              ],
          job.dependency === undefined
            ? undefined
            : [
                'Depends on',
                <a key="dependency" class="link" href={href('/dependencies', { q: job.dependency })}>
                  {job.dependency}
                </a>,
              ],
          job.webhook === undefined ? undefined : ['Webhook', <code key="webhook">{job.webhook}</code>],
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

type Fact = readonly [term: string, value: preact.ComponentChildren] | undefined

/** The links to related things. */
function related(job: JobView): readonly Fact[] {
  const { scheduleId, fingerprint, redriveId, generation } = job
  return [
    generation > 1
      ? ['Generation', `${generation}: restarted ${generation === 2 ? 'once' : `${generation - 1} times`}`]
      : undefined,
    scheduleId === undefined
      ? undefined
      : [
          'Schedule',
          <a key="schedule" class="link" href={href(`/schedules/${segment(scheduleId)}`)}>
            {scheduleId}
          </a>,
        ],
    fingerprint === undefined
      ? undefined
      : [
          'Error group',
          <a key="group" class="link mono" href={href(`/dead/${segment(fingerprint)}`)}>
            {fingerprint}
          </a>,
        ],
    redriveId === undefined
      ? undefined
      : [
          'Redrive',
          <span key="redrive" class="row tight">
            <a class="link" href={href(`/redrives/${segment(redriveId)}`)}>
              open
            </a>
            <CopyableId id={redriveId} what="Redrive id" />
          </span>,
        ],
    [
      'Related jobs',
      <span key="same" class="row wrap">
        <a class="link" href={href('/jobs', { name: job.name })}>
          all {job.name} jobs
        </a>
        {job.key !== undefined && (
          <a class="link" href={href('/jobs', { key: job.key })}>
            same key
          </a>
        )}
      </span>,
    ],
  ]
}
