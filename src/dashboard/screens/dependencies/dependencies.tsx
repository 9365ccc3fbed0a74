import type { CircuitView } from '../../../engine/dependencies/circuits.js'
import { CircuitStrip } from '../../charts/circuit-strip.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { age, count, percent, plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import { Badge } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { Answer, Empty } from '../../parts/empty.js'
import { Menu } from '../../parts/menu.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { type Column, Table } from '../../parts/table.js'
import { Elapsed, Time } from '../../parts/time.js'
import { href, segment } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import './dependency.css'

/** What jobs depend on, and how it is. Those in trouble first, in words. */
export default function Targets() {
  useTitle('Targets')
  const circuits = useQuery('circuits', api.circuits.list, { topics: ['circuits'], everyMs: 3_000 })
  return (
    <>
      <PageHead
        title="Targets"
        sub="What jobs call or depend on. One that fails too often is left alone, tried now and then, and let in slowly."
      />
      <Answer query={circuits} lines={6}>
        {({ data }) => {
          const troubled = data.filter(isTroubled)
          const well = data.filter(circuit => !isTroubled(circuit))
          if (data.length === 0) return <NoTargets />
          return (
            <div class="stack">
              {troubled.length > 0 ? (
                <ul class="target-cards">
                  {troubled.map(circuit => (
                    <Card key={circuit.key} circuit={circuit} after={circuits.refetch} />
                  ))}
                </ul>
              ) : (
                <p class="notice ok">All targets are called as usual.</p>
              )}
              {well.length > 0 && (
                <Panel flush title="Called as usual" note={count(well.length)}>
                  <Table
                    label="Targets that are called as usual"
                    columns={columns(circuits.refetch)}
                    rows={well}
                    rowKey={({ key }) => key}
                    stale={circuits.problem !== undefined}
                  />
                </Panel>
              )}
            </div>
          )
        }}
      </Answer>
    </>
  )
}

const isTroubled = ({ state, forced }: CircuitView): boolean => state !== 'closed' || forced !== undefined

/** Deliveries to an endpoint have a lane of their own. */
const LANE = 'webhook:'

interface OfCircuit {
  readonly circuit: CircuitView
  readonly after: () => void
}

function Card({ circuit, after }: OfCircuit) {
  const { state, forced, reason, probeJobId } = circuit
  return (
    <li class="target-card">
      <div class="target-card-main">
        <h2 class="row wrap">
          <Name circuit={circuit} />
          <StateMark state={state === 'open' ? 'circuit-open' : state} as="badge" />
          {forced && (
            <Badge hue="accent" icon="user">
              held by hand
            </Badge>
          )}
        </h2>
        <p>
          {wordsOf(circuit, now.value)} <Waiting circuit={circuit} />
        </p>
        {reason !== undefined && <p class="ink-2 target-reason">{reason}</p>}
        <p class="row wrap muted">
          <span>
            For <Elapsed since={circuit.since} />
          </span>
          <Calls circuit={circuit} />
          {circuit.openings > 1 && <span>opened {count(circuit.openings)} times in a row</span>}
          {probeJobId !== undefined && (
            <a class="link" href={href(`/jobs/${segment(probeJobId)}`)}>
              The job that tries it
            </a>
          )}
        </p>
      </div>
      <div class="target-card-side">
        <CircuitStrip circuit={circuit} />
        {may('operator') && <Reins circuit={circuit} after={after} />}
      </div>
    </li>
  )
}

function Name({ circuit: { key } }: { readonly circuit: CircuitView }) {
  if (!key.startsWith(LANE)) return <span class="mono target-key">{key}</span>
  const rest = key.slice(LANE.length)
  // Addresses that jobs name themselves have no webhook behind them.
  return /^https?:/.test(rest) ? (
    <span class="target-key">Webhooks of jobs to {rest}</span>
  ) : (
    <a class="link target-key" href={href(`/webhooks/${segment(rest)}`)}>
      Webhook {rest}
    </a>
  )
}

function wordsOf({ state, forced, openUntil, notBefore }: CircuitView, at: number): string {
  if (forced === 'open') return 'Held open by hand: nothing is called and no probe is sent until somebody closes it.'
  if (forced === 'closed') return 'Held closed by hand: it is called, whatever fails.'
  const until = (time: string | undefined): string | undefined =>
    time !== undefined && Date.parse(time) > at ? age(Date.parse(time) - at) : undefined
  switch (state) {
    case 'open': {
      const probe = until(openUntil)
      return probe ? `Nothing is called. In ${probe} one job tries it.` : 'Nothing is called. The next job tries it.'
    }
    case 'half-open':
      return 'One job tries it now. If it succeeds, the others follow a few at a time.'
    case 'ramping': {
      const start = until(notBefore)
      return start
        ? `It asked to be left alone: in ${start} jobs come back, a few at a time.`
        : 'It answers again: what waited comes back, a few at a time.'
    }
    default:
      return 'It is called as usual.'
  }
}

/** What waits because of it. Such jobs lose no attempt. */
function Waiting({ circuit: { key } }: { readonly circuit: CircuitView }) {
  const waiting = useQuery(
    `waits for ${key}`,
    async signal => (await api.jobs.list({ dependency: key, state: 'waiting', limit: 1 }, signal)).count,
    { topics: ['circuits'], everyMs: 5_000 },
  )
  if (!waiting.data) return null
  if (waiting.data.value === 0) return <span class="muted">No job waits for it.</span>
  return (
    <a class="link" href={href('/jobs', { dependency: key })}>
      {plural(waiting.data, 'job waits', 'jobs wait')} for it and {waiting.data.value === 1 ? 'loses' : 'lose'} no
      attempt.
    </a>
  )
}

function Calls({ circuit: { calls } }: { readonly circuit: CircuitView }) {
  const all = calls.ok + calls.failed
  return all === 0 ? (
    <span>no calls in its window</span>
  ) : (
    <span>
      {count(calls.failed)} of {plural(all, 'call')} failed ({percent(calls.failed / all)})
    </span>
  )
}

function Reins({ circuit, after }: OfCircuit) {
  const { forced, state } = circuit
  return (
    <div class="row wrap">
      {forced ? (
        <Button icon="check" tip="It goes by what it sees again" onPress={() => void release(circuit, after)}>
          Release
        </Button>
      ) : (
        state !== 'ramping' && (
          <Button icon="check" tip="What waited comes back step by step" onPress={() => void release(circuit, after)}>
            Close now
          </Button>
        )
      )}
      <Holds circuit={circuit} after={after} />
    </div>
  )
}

function Holds({ circuit, after }: OfCircuit) {
  const { key, forced } = circuit
  return (
    <Menu
      label={`Actions for ${key}`}
      size="sm"
      items={[
        { text: 'Show its jobs', icon: 'jobs', href: href('/jobs', { dependency: key }) },
        may('operator') &&
          forced !== 'open' && {
            text: 'Hold it open',
            icon: 'pause',
            hint: 'Nothing is called until somebody closes it',
            onPress: () => void holdOpen(circuit, after),
          },
        may('operator') &&
          forced !== 'closed' && {
            text: 'Hold it closed',
            icon: 'play',
            hint: 'It is called, whatever fails',
            onPress: () => void holdClosed(circuit, after),
          },
      ]}
    />
  )
}

function release({ key }: CircuitView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.circuits.close(key),
    done: `${key} is called again; what waited comes back step by step`,
    after,
  })
}

function holdOpen({ key }: CircuitView, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: `Hold ${key} open?`,
      effect: 'All jobs that depend on it wait and lose no attempt. No probe is sent until somebody closes it.',
      verb: 'Hold open',
    },
    run: () => api.circuits.open(key),
    done: `${key} is held open`,
    undo: () => api.circuits.close(key),
    after,
  })
}

function holdClosed({ key }: CircuitView, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: `Hold ${key} closed?`,
      effect: 'Its jobs run whatever fails, and use up their attempts. Nothing protects it until somebody releases it.',
      verb: 'Hold closed',
      tone: 'danger',
    },
    run: () => api.circuits.close(key, true),
    done: `${key} is held closed`,
    undo: () => api.circuits.close(key),
    after,
  })
}

function columns(after: () => void): readonly Column<CircuitView>[] {
  return [
    { key: 'key', title: 'Target', width: 'grow', phone: 'head', render: circuit => <Name circuit={circuit} /> },
    { key: 'state', title: 'Circuit', render: ({ state }) => <StateMark state={state} /> },
    { key: 'calls', title: 'In its window', render: circuit => <Calls circuit={circuit} /> },
    { key: 'since', title: 'Since', render: ({ since }) => <Time at={since} /> },
    {
      key: 'more',
      title: <span class="off-screen">Actions</span>,
      render: circuit => <Holds circuit={circuit} after={after} />,
    },
  ]
}

function NoTargets() {
  return (
    <Empty icon="dependencies" title="No target is known yet">
      A target appears when a job that calls a URL, or says what it depends on, has run under a policy with a circuit or
      a budget. <code>{'retry: { circuit: true }'}</code> gives it one.
    </Empty>
  )
}
