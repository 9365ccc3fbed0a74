import type { WorkerView } from '../../../engine/worker/fleet.js'
import * as api from '../../data/api.js'
import { count, plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { Badge, Tag, Tags } from '../../parts/badge.js'
import { Code } from '../../parts/code-sample.js'
import { CopyableId } from '../../parts/copyable.js'
import { Empty } from '../../parts/empty.js'
import { Link } from '../../parts/link.js'
import { List } from '../../parts/list/list.js'
import { Only } from '../../parts/list/only.js'
import type { Column } from '../../parts/list/table.js'
import { PageHead } from '../../parts/panel.js'
import { Meter } from '../../parts/sparkline.js'
import { StateMark } from '../../parts/state.js'
import { Elapsed, Time } from '../../parts/time.js'
import { href, pageOf, query } from '../../shell/router.js'

const SHOWN_MAX = 3

/** The workers; silent ones first. */
export default function Workers() {
  const workers = useQuery('workers', api.workers.list, { topics: ['workers'], everyMs: 5_000 })
  const { build } = query.value
  return (
    <>
      <PageHead title="Workers" sub={workers.data && summaryOf(workers.data.data)} />
      {build !== undefined && (
        <Only name="build" all="Show all workers">
          Only workers of build {build} are shown.
        </Only>
      )}
      <List
        query={workers}
        label="Workers"
        columns={COLUMNS}
        href={({ id }) => pageOf('workers', id)}
        pick={rows => ofBuild(rows, build).sort(silentFirst)}
        none={
          <Empty icon="workers" title={`No worker of build ${build} is alive`}>
            Its workers have stopped since.
          </Empty>
        }
        empty={<NoWorkers />}
      />
    </>
  )
}

const ofBuild = (workers: readonly WorkerView[], build: string | undefined): WorkerView[] =>
  workers.filter(worker => build === undefined || worker.build === build)

/** A silent worker does not obey any more. */
export const workerState = ({ state, draining }: WorkerView): 'alive' | 'silent' | 'draining' =>
  state === 'alive' && draining ? 'draining' : state

function summaryOf(workers: readonly WorkerView[]): string {
  const alive = workers.filter(({ state }) => state === 'alive')
  const busy = alive.reduce((sum, { running }) => sum + running, 0)
  const slots = alive.reduce((sum, { concurrency }) => sum + concurrency, 0)
  return `${plural(alive.length, 'worker is', 'workers are')} alive, ${count(busy)} of ${plural(slots, 'slot')} busy`
}

function silentFirst(a: WorkerView, b: WorkerView): number {
  if (a.state !== b.state) return a.state === 'silent' ? -1 : 1
  return `${a.host} ${a.pid}` < `${b.host} ${b.pid}` ? -1 : 1
}

function NoWorkers() {
  return (
    <Empty icon="workers" title="No workers alive">
      <div class="stack tight">
        <p>Jobs wait until a worker starts. Start one with your job definitions:</p>
        <Code label="Command to start a worker" text="chronos worker --jobs ./jobs.js" />
        <p>
          or in your own process with <code>chronos.work([…])</code>.
        </p>
      </div>
    </Empty>
  )
}

const COLUMNS: readonly Column<WorkerView>[] = [
  {
    title: 'Worker',
    phone: 'head',
    render: ({ id, host, pid, kind }) => (
      <span class="row">
        <Link to={pageOf('workers', id)} text={host} />
        <span class="muted">pid {pid}</span>
        {kind === 'pull' && (
          <Badge hue="accent" tip="Claims jobs over the REST API">
            pull
          </Badge>
        )}
      </span>
    ),
  },
  { title: 'State', render: worker => <StateMark state={workerState(worker)} /> },
  { title: 'Build', phone: 'hide', render: ({ build }) => build ?? <span class="muted">–</span> },
  {
    title: 'Slots',
    render: ({ running, concurrency }) => (
      <Meter
        value={running}
        max={concurrency}
        text={`${count(running)} of ${count(concurrency)}`}
        label="Slots in use"
      />
    ),
  },
  { title: 'Queues', render: ({ queues }) => <Names names={queues} to={name => pageOf('queues', name)} /> },
  {
    title: 'Job names',
    width: 'grow',
    render: ({ names }) => <Names names={names} to={name => href('/jobs', { name })} />,
  },
  { title: 'Last heartbeat', render: ({ seenAt }) => <Time at={seenAt} /> },
  { title: 'Uptime', phone: 'hide', render: ({ startedAt }) => <Elapsed since={startedAt} /> },
  { title: 'Id', phone: 'hide', render: ({ id }) => <CopyableId id={id} what="Worker id" /> },
]

function Names({ names, to }: { readonly names: readonly string[]; readonly to: (name: string) => string }) {
  return names.includes('*') ? <Tag>all</Tag> : <Tags names={names} to={to} max={SHOWN_MAX} />
}
