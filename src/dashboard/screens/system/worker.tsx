import type { WorkerPage } from '../../../engine/worker/fleet.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { count, plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import type { ScreenProps } from '../../lazy.js'
import { Tags } from '../../parts/badge.js'
import { CopyableId } from '../../parts/copyable.js'
import { Detail } from '../../parts/empty.js'
import { Json } from '../../parts/json.js'
import { type Action, PageActions } from '../../parts/layer/actions.js'
import { Link } from '../../parts/link.js'
import { type Column, Table } from '../../parts/list/table.js'
import { Facts, PageHead, Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Elapsed, Time } from '../../parts/time.js'
import { href, pageOf } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { workerState } from './workers.js'

/** One worker: what it runs, what it has done, and how to drain it. */
export default function Worker({ params }: ScreenProps) {
  const id = params['id']!
  const worker = useQuery(`worker ${id}`, signal => api.workers.get(id, signal), {
    topics: ['workers', 'jobs'],
    everyMs: 3_000,
  })
  const { data, refetch } = worker
  useTitle(data ? nameOf(data) : 'Worker')
  return (
    <Detail
      query={worker}
      icon="workers"
      missing="Worker not found"
      why="It has stopped, or the address is mistyped."
      list={{ href: href('/workers'), text: 'All workers' }}
    >
      {found => (
        <>
          <PageHead
            up={{ href: href('/workers'), text: 'Workers' }}
            title={nameOf(found)}
            sub={<StateMark state={workerState(found)} as="badge" />}
            actions={<PageActions label={`Actions for ${nameOf(found)}`} actions={actions(found, refetch)} />}
          />
          <div class="columns main-aside">
            <Running worker={found} />
            <About worker={found} />
          </div>
        </>
      )}
    </Detail>
  )
}

const nameOf = ({ host, pid, kind, id }: WorkerPage): string => (kind === 'pull' ? id : `${host}, pid ${pid}`)

function actions(worker: WorkerPage, after: () => void): readonly (Action | false)[] {
  const isIdle = worker.state === 'silent' || worker.draining === true
  return [
    may('operator') &&
      !isIdle && {
        text: 'Drain worker',
        icon: 'pause',
        hint: 'It ends its jobs, claims no more, and stops',
        as: 'button',
        onPress: () => void drain(worker, after),
      },
  ]
}

function drain(worker: WorkerPage, after: () => void): Promise<unknown> {
  const { id, running, kind } = worker
  const ends = running === 0 ? 'It runs no job now.' : `${plural(running, 'job')} may end first.`
  const then =
    kind === 'pull'
      ? 'Its next claim tells it to stop.'
      : 'Then it stops: a process of "chronos worker" or "chronos serve" exits, an application keeps running without it.'
  return act({
    confirm: {
      title: `Drain worker ${nameOf(worker)}?`,
      effect: `It claims no more jobs. ${ends} ${then} This can't be undone.`,
      verb: 'Drain worker',
      tone: 'danger',
    },
    run: () => api.workers.drain(id),
    done: `Draining worker ${nameOf(worker)}`,
    after,
  })
}

type RunningJob = WorkerPage['jobs'][number]

const COLUMNS: readonly Column<RunningJob>[] = [
  { title: 'Job', phone: 'head', render: ({ id, name }) => <Link to={pageOf('jobs', id)} text={name} /> },
  { title: 'Queue', render: ({ queue }) => queue },
  { title: 'Attempt', render: ({ label }) => label },
  { title: 'Runs for', render: ({ startedAt }) => (startedAt ? <Elapsed since={startedAt} /> : '–') },
  {
    title: 'Progress',
    width: 'grow',
    render: ({ progress }) =>
      progress === undefined ? <span class="muted">–</span> : <Json value={progress} what="Progress" />,
  },
]

function Running({ worker: { id, jobs, running } }: { readonly worker: WorkerPage }) {
  const all = (
    <Link
      to={href('/jobs', { worker: id })}
      text={jobs.length < running ? `Show all ${count(running)}` : 'Show jobs'}
    />
  )
  return (
    <Panel title="Running jobs" note={count(running)} flush={jobs.length > 0} actions={jobs.length > 0 && all}>
      {jobs.length === 0 ? (
        <p class="muted">It runs no job now.</p>
      ) : (
        <Table label="Running jobs" columns={COLUMNS} rows={jobs} href={({ id }) => pageOf('jobs', id)} />
      )}
    </Panel>
  )
}

const MINUTE_MS = 60_000

function About({ worker }: { readonly worker: WorkerPage }) {
  const { id, host, pid, build, queues, names, concurrency, running, startedAt, seenAt, done } = worker
  const minutes = Math.max(1, (now.value - Date.parse(startedAt)) / MINUTE_MS)
  const ended = done && done.succeeded + done.failed
  return (
    <Panel title="Worker">
      <Facts
        facts={[
          ['Slots', `${count(running)} of ${count(concurrency)} busy`],
          ['Runs per minute', ended !== undefined && `${(ended / minutes).toFixed(1)} on average`],
          ['Succeeded runs', done && count(done.succeeded)],
          ['Failed runs', done && count(done.failed)],
          ['Lost leases', done && count(done.leasesLost)],
          ['Build', build],
          ['Host', host],
          ['Process', pid > 0 && `pid ${pid}`],
          ['Queues', <Tags wrap names={queues} to={name => pageOf('queues', name)} />],
          ['Job names', names.includes('*') ? 'all' : <Tags wrap names={names} to={name => pageOf('names', name)} />],
          ['Uptime', <Elapsed since={startedAt} />],
          ['Last heartbeat', <Time at={seenAt} />],
          ['Id', <CopyableId id={id} what="Worker id" />],
        ]}
      />
    </Panel>
  )
}
