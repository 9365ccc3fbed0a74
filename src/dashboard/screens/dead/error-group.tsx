import { useSignal } from '@preact/signals'
import type { JobView } from '../../../core/job/view.js'
import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import * as api from '../../data/api.js'
import { copyText } from '../../data/copy.js'
import { count, plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import type { ScreenProps } from '../../lazy.js'
import { Badge } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { Copyable } from '../../parts/copyable.js'
import { Detail, Empty } from '../../parts/empty.js'
import { Link } from '../../parts/link.js'
import { List } from '../../parts/list/list.js'
import { type Column, Table } from '../../parts/list/table.js'
import { Facts, PageHead, Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Time } from '../../parts/time.js'
import { href, pageOf, query } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { ForecastPanel } from '../forecast/forecast.js'
import { jobColumns } from '../jobs/jobs-columns.js'
import { choiceOf, GroupMenu, groupHref, NOTHING_TO_REDRIVE } from './dead.js'
import { ErrorAttempts } from './error-attempts.js'
import { ErrorBreakdown } from './error-breakdown.js'
import { ErrorNotes } from './error-notes.js'
import { RedriveDialog } from './redrive-dialog.js'
import './dead.css'

type Group = ErrorGroupView & { readonly jobs?: readonly JobView[] }

/** One error group: frequency, samples, dead letters and actions. */
export default function ErrorGroup({ params }: ScreenProps) {
  const fingerprint = params['fingerprint']!
  const tenantId = query.value['tenant']
  const group = useQuery(
    `group ${fingerprint} ${tenantId ?? ''}`,
    signal => api.dead.group(fingerprint, tenantId, signal) as Promise<Group>,
    { topics: ['dead', 'redrives'], everyMs: 10_000 },
  )
  useTitle(group.data?.title ?? 'Error group')
  return (
    <Detail
      query={group}
      missing="Error group not found"
      why="A group is removed some time after its last dead letter, or the address is mistyped."
      list={{ href: href('/dead'), text: 'Show dead letters' }}
    >
      {data => <Found group={data} after={group.refetch} />}
    </Detail>
  )
}

function Found({ group, after }: { readonly group: Group; readonly after: () => void }) {
  const isRedriving = useSignal(false)
  const { title, dead, state } = group
  return (
    <>
      <PageHead
        title={title}
        up={{ href: href('/dead'), text: 'Dead letters' }}
        sub={
          <span class="row wrap tight">
            <StateMark state={state} as="badge" />
            <span>{plural(dead, 'dead letter')}</span>
          </span>
        }
        actions={
          <span class="row">
            <Button
              text="Copy report"
              icon="copy"
              onPress={() => void copyText(issueOf(group), 'Copied error report')}
            />
            {may('operator') && (
              <>
                <Button
                  text="Redrive"
                  tone="primary"
                  icon="redrive"
                  disabled={dead === 0 && NOTHING_TO_REDRIVE}
                  onPress={() => (isRedriving.value = true)}
                />
                <GroupMenu group={group} after={after} />
              </>
            )}
          </span>
        }
      />
      <div class="stack loose">
        <div class="columns main-aside">
          <ErrorBreakdown group={group} />
          <div class="stack">
            <About group={group} />
            <ErrorNotes group={group} after={after} />
          </div>
        </div>
        <ForecastPanel of={{ fingerprint: group.fingerprint, tenantId: group.tenantId }} />
        <ErrorAttempts group={group} />
        {group.tenants && <Tenants group={group} />}
        <DeadOfIt group={group} />
      </div>
      {isRedriving.value && <RedriveDialog choice={choiceOf(group)} onClose={() => (isRedriving.value = false)} />}
    </>
  )
}

function About({ group }: { readonly group: Group }) {
  const { fingerprint, error, code, status, names, queues, failures, deaths, dead, firstSeen, lastSeen } = group
  return (
    <Panel title="Totals">
      <div class="stack">
        <Facts
          columns={1}
          facts={[
            ['Error', <Badge hue="off">{[error, code, status].filter(part => part !== undefined).join(' · ')}</Badge>],
            ['Failed runs', count(failures)],
            ['Dead jobs in total', count(deaths)],
            ['Dead letters now', count(dead)],
            ['First seen', <Time at={firstSeen} />],
            ['Last seen', <Time at={lastSeen} />],
            ['Jobs', names.join(', ')],
            ['Queues', queues.join(', ')],
            ['Tenant', group.tenantId],
            ['Fingerprint', <Copyable text={fingerprint} what="Fingerprint" />],
          ]}
        />
      </div>
    </Panel>
  )
}

type Share = NonNullable<Group['tenants']>[number]

function Tenants({ group }: { readonly group: Group }) {
  const columns: readonly Column<Share>[] = [
    {
      title: 'Tenant',
      phone: 'head',
      render: ({ tenantId }) =>
        tenantId === undefined ? (
          <span class="muted">No tenant</span>
        ) : (
          <Link to={groupHref({ ...group, tenantId })} text={tenantId} />
        ),
    },
    { title: 'State', render: ({ state }) => <StateMark state={state} as="badge" /> },
    { title: 'Dead letters', align: 'end', render: ({ dead }) => count(dead) },
    { title: 'Failed runs', align: 'end', render: ({ failures }) => count(failures) },
    { title: 'Last seen', render: ({ lastSeen }) => <Time at={lastSeen} /> },
  ]
  return (
    <Panel title="Tenants" flush>
      <Table label="Dead letters by tenant" columns={columns} rows={group.tenants!} rowKey={keyOfShare} />
    </Panel>
  )
}

const keyOfShare = ({ tenantId }: Share): string => tenantId ?? ''

const LISTED = 20

function DeadOfIt({ group: { fingerprint, tenantId } }: { readonly group: Group }) {
  const jobs = useQuery(
    `dead of ${fingerprint} ${tenantId ?? ''}`,
    signal => api.dead.list({ fingerprint, tenantId, limit: LISTED }, signal),
    { topics: ['dead', 'redrives'] },
  )
  return (
    <List
      query={jobs}
      title="Dead letters"
      label="Dead letters of this group"
      columns={jobColumns()}
      href={({ id }) => pageOf('jobs', id)}
      actions={({ count: total }) => (
        <Link to={href('/dead', { view: 'jobs', fingerprint, tenant: tenantId })} text={`All ${count(total)}`} />
      )}
      empty={<Empty icon="check" title="No dead letters in this group" good />}
    />
  )
}

/** A report for an issue tracker. */
function issueOf(group: Group): string {
  const { title, error, failures, dead, firstSeen, lastSeen, names, queues, fingerprint, jobs = [] } = group
  const sample = jobs[0]?.error
  return [
    `## ${title}`,
    '',
    `- error: \`${error}\`, ${count(failures)} failed runs, ${count(dead)} dead letters`,
    `- jobs: ${names.join(', ')}; queues: ${queues.join(', ')}`,
    `- first seen ${firstSeen}, last seen ${lastSeen}`,
    `- fingerprint: \`${fingerprint}\``,
    ...(sample ? ['', '```', sample.stack ?? sample.message, '```'] : []),
  ].join('\n')
}
