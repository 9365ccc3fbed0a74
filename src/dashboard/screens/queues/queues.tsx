import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import * as api from '../../data/api.js'
import { percent, plural } from '../../data/format.js'
import { Empty } from '../../parts/empty.js'
import { RowActions } from '../../parts/layer/actions.js'
import { List, usePage } from '../../parts/list/list.js'
import { SearchBox } from '../../parts/list/search-box.js'
import { actionColumn, type Column } from '../../parts/list/table.js'
import { PageHead } from '../../parts/panel.js'
import { pageOf, query, setQuery } from '../../shell/router.js'
import { FirstSteps } from '../overview/overview-first-steps.js'
import { queueActions } from './queue-actions.js'
import { QUEUE_COLUMNS } from './queue-columns.js'

export default function Queues() {
  const q = query.value['q']
  const queues = usePage(`queues ${q ?? ''}`, (page, signal) => api.queues.list({ ...page, q }, signal), {
    topics: ['queues', 'workers'],
    everyMs: 10_000,
  })
  return (
    <>
      <PageHead title="Queues" actions={<SearchBox label="Find a queue" />} />
      <List
        query={queues}
        label="Queues"
        columns={columns(queues.refetch)}
        rowKey={({ name }) => name}
        href={({ name }) => pageOf('queues', name)}
        size={({ data }) => plural(data.length, 'queue')}
        empty={
          q ? (
            <Empty icon="search" title={`No queue has “${q}” in its name`}>
              <button type="button" class="link-button" onClick={() => setQuery({ q: undefined })}>
                Show all
              </button>
            </Empty>
          ) : (
            <FirstSteps />
          )
        }
      />
    </>
  )
}

function columns(after: () => void): readonly Column<QueueReport>[] {
  return [
    ...QUEUE_COLUMNS,
    {
      title: 'Failed runs, 1h',
      align: 'end',
      phone: 'hide',
      sort: ({ lastHour }) => (lastHour.started === 0 ? undefined : lastHour.failed / lastHour.started),
      render: ({ lastHour }) =>
        lastHour.started === 0 ? <span class="muted">–</span> : percent(lastHour.failed / lastHour.started),
    },
    actionColumn(queue => <RowActions label={`Actions for ${queue.name}`} actions={queueActions(queue, after)} />),
  ]
}
