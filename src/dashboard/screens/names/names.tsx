import type { NameSummary } from '../../../engine/names/view.js'
import * as api from '../../data/api.js'
import { count, duration, percent, plural, rate } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { apiRange, range, rangeParameters, rangeWords } from '../../data/range.js'
import { Empty, Incomplete } from '../../parts/empty.js'
import { Icon } from '../../parts/icon.js'
import { Link } from '../../parts/link.js'
import { List } from '../../parts/list/list.js'
import type { Column } from '../../parts/list/table.js'
import { PageHead } from '../../parts/panel.js'
import { pageOf, query, setQuery } from '../../shell/router.js'

/** The job names that were active in the time range. */
export default function Names() {
  const q = query.value['q']
  const asked = { ...apiRange(range.value), q }
  const names = useQuery(`names ${JSON.stringify(asked)}`, signal => api.names.list(asked, signal), {
    topics: ['jobs'],
    everyMs: 10_000,
  })
  return (
    <>
      <PageHead
        title="Job names"
        sub={names.data && `${plural(names.data.total, 'job name')} active ${rangeWords(range.value)}`}
        actions={
          <span class="search-box">
            <Icon name="search" size={14} class="muted" />
            <input
              class="input"
              type="search"
              placeholder="Find a job name"
              aria-label="Find a job name"
              value={q ?? ''}
              onInput={event => setQuery({ q: event.currentTarget.value }, { replace: true })}
            />
          </span>
        }
      />
      {names.data?.complete === false && <Incomplete />}
      <List
        query={names}
        label="Job names"
        columns={COLUMNS}
        rowKey={({ name }) => name}
        href={({ name }) => pageOf('names', name, rangeParameters())}
        empty={
          <Empty icon="names" title={q ? `No active job name contains “${q}”` : 'No jobs in this time range'}>
            A job name is listed if a job of this name was enqueued, ran or ended in the time range.
          </Empty>
        }
      />
    </>
  )
}

const number = (title: string, sort: (row: NameSummary) => number | undefined, shown: (value: number) => string) =>
  ({
    title,
    align: 'end',
    sort,
    render: row => {
      const value = sort(row)
      return value === undefined ? <span class="muted">–</span> : shown(value)
    },
  }) satisfies Column<NameSummary>

const COLUMNS: readonly Column<NameSummary>[] = [
  {
    title: 'Job name',
    width: 'grow',
    phone: 'head',
    sort: ({ name }) => name,
    render: ({ name }) => <Link to={pageOf('names', name, rangeParameters())} look="strong clip" text={name} />,
  },
  number('Runs', ({ started }) => started, count),
  number('Rate', ({ perMinute }) => perMinute, rate),
  {
    title: 'Failed runs',
    align: 'end',
    sort: ({ failureShare }) => failureShare,
    render: ({ failureShare, failed }) => <span class={failed > 0 ? 'dead' : 'muted'}>{percent(failureShare)}</span>,
  },
  number('Dead', ({ dead }) => dead, count),
  number('Run p50', ({ runMs }) => runMs?.p50, duration),
  number('Run p95', ({ runMs }) => runMs?.p95, duration),
  { ...number('Run p99', ({ runMs }) => runMs?.p99, duration), phone: 'hide' },
  { ...number('Wait p50', ({ waitMs }) => waitMs?.p50, duration), phone: 'hide' },
  number('Wait p95', ({ waitMs }) => waitMs?.p95, duration),
  { ...number('Wait p99', ({ waitMs }) => waitMs?.p99, duration), phone: 'hide' },
  {
    ...number('Queues', ({ queues }) => queues.length, count),
    render: ({ queues }) => <span data-tip={queues.join(', ')}>{count(queues.length)}</span>,
  },
]
