import type { AuditLogEntry } from '../../../core/audit/entry.js'
import * as api from '../../data/api.js'
import { Badge } from '../../parts/badge.js'
import { CopyableId } from '../../parts/copyable.js'
import { Empty } from '../../parts/empty.js'
import { Link } from '../../parts/link.js'
import { List, usePage } from '../../parts/list/list.js'
import type { Column } from '../../parts/list/table.js'
import { PageHead } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { href, query, segment } from '../../shell/router.js'

const LIMIT = 50

export default function AuditLog() {
  const isFirst = query.value['cursor'] === undefined
  const entries = usePage('audit', api.audit.list, { limit: LIMIT, ...(isFirst && { everyMs: 5_000 }) })
  return (
    <>
      <PageHead title="Audit log" sub="Every change made through this server, kept for 90 days" />
      <List
        query={entries}
        label="Audit log"
        columns={COLUMNS}
        size={() => 'Newest first'}
        lines={10}
        empty={
          <Empty icon="audit" title="No changes yet">
            Every change is listed here with its author: cancelled jobs, redrives, paused queues, new tokens.
          </Empty>
        }
      />
    </>
  )
}

const COLUMNS: readonly Column<AuditLogEntry>[] = [
  { title: 'When', render: ({ at }) => <Time at={at} /> },
  {
    title: 'Author',
    phone: 'head',
    render: ({ actor, role, tenantId }) => (
      <span class="row">
        <span class="strong">{actor}</span>
        <span class="muted">{role}</span>
        {tenantId !== undefined && <Badge>{tenantId}</Badge>}
      </span>
    ),
  },
  { title: 'Action', render: ({ summary, action }) => <span>{summary ?? action}</span> },
  { title: 'Object', render: entry => <Target entry={entry} /> },
  {
    title: 'Details',
    width: 'grow',
    render: ({ facts }) => (
      <code class="clip muted" data-tip={facts && JSON.stringify(facts, null, 1)}>
        {facts && JSON.stringify(facts)}
      </code>
    ),
  },
  {
    title: 'Request',
    phone: 'hide',
    render: ({ requestId }) => (requestId === undefined ? null : <CopyableId id={requestId} what="Request id" />),
  },
]

function Target({ entry: { action, target } }: { readonly entry: AuditLogEntry }) {
  if (target === undefined) return null
  const to = /\/(jobs|queues|schedules|redrives|webhooks)\b/.exec(action)?.[1]
  if (to === undefined) return <span class="mono">{target}</span>
  return <Link to={href(`/${to}/${segment(target)}`)} look="mono" text={target} />
}
