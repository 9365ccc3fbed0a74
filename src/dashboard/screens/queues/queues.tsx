import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import * as api from '../../data/api.js'
import { percent } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { Empty } from '../../parts/empty.js'
import { Icon } from '../../parts/icon.js'
import { RowActions } from '../../parts/layer/actions.js'
import { List } from '../../parts/list/list.js'
import { actionColumn, type Column } from '../../parts/list/table.js'
import { PageHead } from '../../parts/panel.js'
import { pageOf, query, setQuery } from '../../shell/router.js'
import { FirstSteps } from '../overview/overview-first-steps.js'
import { queueActions } from './queue-actions.js'
import { QUEUE_COLUMNS } from './queue-columns.js'

export default function Queues() {
  const queues = useQuery('queues', api.queues.list, { topics: ['queues', 'workers'], everyMs: 10_000 })
  const wanted = (query.value['q'] ?? '').toLowerCase()
  return (
    <>
      <PageHead
        title="Queues"
        actions={
          <span class="search-box">
            <Icon name="search" size={14} class="muted" />
            <input
              class="input"
              type="search"
              placeholder="Find a queue"
              aria-label="Find a queue"
              value={query.value['q'] ?? ''}
              onInput={event => setQuery({ q: event.currentTarget.value }, { replace: true })}
            />
          </span>
        }
      />
      <List
        query={queues}
        label="Queues"
        columns={columns(queues.refetch)}
        pick={rows => rows.filter(({ name }) => name.toLowerCase().includes(wanted))}
        rowKey={({ name }) => name}
        href={({ name }) => pageOf('queues', name)}
        empty={<FirstSteps />}
        none={all => (
          <Empty icon="search" title={`0 of ${all} queues match`}>
            <button type="button" class="link-button" onClick={() => setQuery({ q: undefined })}>
              Show all
            </button>
          </Empty>
        )}
      />
    </>
  )
}

function columns(after: () => void): readonly Column<QueueReport>[] {
  return [
    ...QUEUE_COLUMNS,
    {
      title: 'Failed runs, 1 h',
      align: 'end',
      phone: 'hide',
      render: ({ lastHour }) =>
        lastHour.started === 0 ? <span class="muted">–</span> : percent(lastHour.failed / lastHour.started),
    },
    actionColumn(queue => <RowActions label={`Actions for ${queue.name}`} actions={queueActions(queue, after)} />),
  ]
}
