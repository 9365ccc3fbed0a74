import type { AuditLogEntry } from '../../../core/audit/entry.js'
import { present } from '../../../core/values/present.js'
import * as api from '../../data/api.js'
import { Badge } from '../../parts/badge.js'
import { CopyableId } from '../../parts/copyable.js'
import { Empty } from '../../parts/empty.js'
import { Link } from '../../parts/link.js'
import { List, usePage } from '../../parts/list/list.js'
import { Only } from '../../parts/list/only.js'
import type { Column } from '../../parts/list/table.js'
import { PageHead } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { href, query, segment } from '../../shell/router.js'

const LIMIT = 50

export default function AuditLog() {
  const { cursor, entry: id } = query.value
  const isNewest = cursor === undefined && id === undefined
  const entries = usePage(
    `audit ${id ?? ''}`,
    (page, signal) => api.audit.list({ ...page, ...present({ id }) }, signal),
    { limit: LIMIT, ...(isNewest && { everyMs: 5_000 }) },
  )
  return (
    <>
      <PageHead title="Audit log" sub="Every change made through a server, kept for 90 days" />
      {id !== undefined && (
        <Only name="entry" all="Show all changes">
          Only the change that you opened is shown.
        </Only>
      )}
      <List
        query={entries}
        label="Audit log"
        columns={COLUMNS}
        size={id === undefined ? () => 'Newest first' : undefined}
        lines={10}
        empty={
          id === undefined ? (
            <Empty icon="audit" title="No changes yet">
              Every change is listed here with its author: cancelled jobs, redrives, paused queues, new tokens.
            </Empty>
          ) : (
            <Empty icon="audit" title="No such change">
              It is older than 90 days, or the address is mistyped.
            </Empty>
          )
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
  const to = /\/(jobs|queues|schedules|redrives|webhooks|workers|dead|circuits)\b/.exec(action)?.[1]
  if (to === undefined) return <span class="mono">{target}</span>
  const page = to === 'circuits' ? href('/dependencies', { q: target }) : href(`/${to}/${segment(target)}`)
  return <Link to={page} look="mono" text={target} />
}
