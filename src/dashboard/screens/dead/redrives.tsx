import { redriveFilterWords } from '../../../core/job/filter.js'
import { timeText } from '../../../core/job/view.js'
import type { RedriveView } from '../../../engine/dead/redrives.js'
import { RedriveProgress } from '../../charts/redrive-chart.js'
import * as api from '../../data/api.js'
import { count, plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { Button } from '../../parts/button.js'
import { Empty } from '../../parts/empty.js'
import { Link } from '../../parts/link.js'
import { List, usePage } from '../../parts/list/list.js'
import type { Column } from '../../parts/list/table.js'
import { PageHead } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Time } from '../../parts/time.js'
import { href, pageOf } from '../../shell/router.js'
import './dead.css'

const GROUPS_READ = 200

/** All redrives, newest first. */
export default function Redrives() {
  const groups = useQuery('titles of groups', signal => api.dead.groups({ all: 'true', limit: GROUPS_READ }, signal), {
    topics: ['redrives'],
  })
  const titles = new Map(groups.data?.data.map(({ fingerprint, title }) => [fingerprint, title]))
  const redrives = usePage('redrives', api.redrives.list, { topics: ['redrives'], everyMs: 3_000 })
  return (
    <>
      <PageHead title="Redrives" sub="Restarts of dead letters: a canary first, then at a limited rate." />
      <List
        query={redrives}
        label="Redrives"
        columns={columns(titles)}
        href={({ id }) => pageOf('redrives', id)}
        size={({ data }) => plural(data.length, 'redrive')}
        lines={6}
        empty={<NoRedrives />}
      />
    </>
  )
}

function NoRedrives() {
  return (
    <Empty
      icon="redrive"
      title="No redrives"
      actions={<Button text="Show dead letters" tone="primary" href={href('/dead')} />}
    >
      Select an error group and click Redrive. A canary runs first, and the redrive stops when too many jobs fail again.
    </Empty>
  )
}

const columns = (titles: ReadonlyMap<string, string>): readonly Column<RedriveView>[] => [
  { title: 'State', phone: 'head', render: ({ state }) => <StateMark state={state} /> },
  {
    title: 'Filter',
    width: 'grow',
    render: redrive => (
      <Link
        to={pageOf('redrives', redrive.id)}
        look="strong clip"
        text={errorText(redrive, titles.get(redrive.filter.fingerprint ?? ''))}
      />
    ),
  },
  { title: 'Progress', phone: 'hide', render: redrive => <RedriveProgress redrive={redrive} isBrief /> },
  {
    title: 'Started',
    align: 'end',
    render: ({ started, total }) => (
      <span class="nowrap">
        {count(started)} of {count(total)}
      </span>
    ),
  },
  { title: 'Rate', align: 'end', phone: 'hide', render: ({ rate }) => rate },
  { title: 'Created', sort: ({ createdAt }) => createdAt, render: ({ createdAt }) => <Time at={createdAt} /> },
]

/** The error that the redrive is about, and its other conditions. */
export function errorText(redrive: RedriveView, title: string | undefined): string {
  const { fingerprint: _, ...others } = redrive.filter
  if (title === undefined) return filterText(redrive)
  return Object.keys(others).length === 0 ? title : `${title}, ${filterText({ filter: others })}`
}

/** The filter in the words of core. */
function filterText({ filter }: Pick<RedriveView, 'filter'>): string {
  return redriveFilterWords(filter, timeText)
}
