import type { JobView } from '../../../core/job/view.js'
import { DELIVERIES, endpointKey, isEndpointKey } from '../../../core/webhook/delivery.js'
import { count, duration, shortId } from '../../data/format.js'
import { isTenant } from '../../data/session.js'
import { Tags } from '../../parts/badge.js'
import { Copyable, CopyableId } from '../../parts/copyable.js'
import { Link } from '../../parts/link.js'
import { type Fact, Facts, Panel } from '../../parts/panel.js'
import { Countdown, Time } from '../../parts/time.js'
import { formOf, queryOf } from '../../policy/policy-form.js'
import { policyWords } from '../../policy/policy-words.js'
import { href, pageOf } from '../../shell/router.js'
import { About } from '../webhooks/delivery-columns.js'

/** A blocked job starts when it is released, at a time that can't be predicted. */
function NextRun({ job: { phase, runAt } }: { readonly job: JobView }) {
  return phase === 'blocked' ? <>when it is released</> : <Countdown at={Date.parse(runAt)} />
}

export function JobFacts({ job }: { readonly job: JobView }) {
  const isLive = job.state === 'waiting' || job.state === 'running'
  return (
    <Panel title="Details">
      <Facts
        facts={[
          ['Job name', !isTenant.value && <Link to={pageOf('names', job.name)} text={job.name} />],
          ['Policy', <PolicyFact job={job} />],
          ['Priority', `${job.priority}${job.priority === 5 ? ' (default)' : ''}`],
          ['Delivery', job.delivery],
          ['Next run', job.state === 'waiting' && <NextRun job={job} />],
          ['Last started', job.startedAt && <Time at={job.startedAt} />],
          ['Locked by', job.lockedBy && <Locked by={job.lockedBy} />],
          ['Locked until', job.lockedUntil && <Time at={job.lockedUntil} />],
          ['Ended', job.finishedAt && !isLive && <Time at={job.finishedAt} />],
          ['Deadline', job.deadline && <Time at={job.deadline} />],
          ['Timeout', job.timeoutMs !== undefined && duration(job.timeoutMs)],
          ...deliveryFacts(job),
          ['Key', job.key !== undefined && <Copyable text={job.key} what="Key" />],
          ['Tenant', job.tenantId !== undefined && <Copyable text={job.tenantId} what="Tenant" />],
          ['Partition', job.partition !== undefined && <Copyable text={job.partition} what="Partition" />],
          ['Units', job.units && unitWords(job.units)],
          ['Tags', job.tags.length > 0 && <Tags names={job.tags} to={tag => href('/jobs', { tag })} wrap />],
          [
            'Depends on',
            job.dependency !== undefined && (
              <Link to={href('/dependencies', { q: job.dependency })} text={job.dependency} />
            ),
          ],
          ['Webhook', job.webhook && <code>{job.webhook}</code>],
          ...related(job),
        ]}
      />
    </Panel>
  )
}

/** The page of a worker is for those who may see the fleet. */
function Locked({ by }: { readonly by: string }) {
  return isTenant.value ? <span>{by}</span> : <Link to={pageOf('workers', by)} text={shortId(by)} />
}

/** From a job to its deliveries, and from a delivery to its job and its endpoint. */
function deliveryFacts(job: JobView): readonly Fact[] {
  if (job.queue !== DELIVERIES)
    return [
      ['Webhook deliveries', <Link to={href('/jobs', { queue: DELIVERIES, q: job.id })} text="Show deliveries" />],
    ]
  const { dependency } = job
  const endpoint =
    dependency !== undefined && isEndpointKey(dependency) ? dependency.slice(endpointKey('').length) : undefined
  return [
    ['Reports', <About job={job} />],
    ['Endpoint', endpoint !== undefined && <Link to={pageOf('webhooks', endpoint)} text={shortId(endpoint)} />],
  ]
}

/** `1,200 tokens` */
const unitWords = (units: Readonly<Record<string, number>>): string =>
  Object.entries(units)
    .map(([unit, amount]) => `${count(amount)} ${unit}`)
    .join(', ')

function PolicyFact({ job }: { readonly job: JobView }) {
  if (job.delivery === 'at-most-once' && job.maxRetries === 0) return <>never retried</>
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

function related({ scheduleId, fingerprint, redriveId, generation, name, key }: JobView): readonly Fact[] {
  const restarted = generation === 2 ? 'once' : `${generation - 1} times`
  return [
    ['Generation', generation > 1 && `${generation}: restarted ${restarted}`],
    ['Schedule', scheduleId !== undefined && <Link to={pageOf('schedules', scheduleId)} text={scheduleId} />],
    [
      'Error group',
      fingerprint !== undefined && <Link to={pageOf('dead', fingerprint)} look="link mono" text={fingerprint} />,
    ],
    [
      'Redrive',
      redriveId !== undefined && (
        <span class="row tight">
          <Link to={pageOf('redrives', redriveId)} text="open" />
          <CopyableId id={redriveId} what="Redrive id" />
        </span>
      ),
    ],
    [
      'Related jobs',
      <span class="row wrap">
        <Link to={href('/jobs', { name })} text={`all ${name} jobs`} />
        {key !== undefined && <Link to={href('/jobs', { key })} text="same key" />}
      </span>,
    ],
  ]
}
