import { endpointKey, isEndpointKey } from '../../../core/webhook/delivery.js'
import type { CircuitView } from '../../../engine/dependencies/circuits.js'
import { CircuitStrip } from '../../charts/circuit-strip.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { age, count, percent, plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import { Badge } from '../../parts/badge.js'
import { Answer, Empty } from '../../parts/empty.js'
import { type Action, PageActions, RowActions } from '../../parts/layer/actions.js'
import { Link } from '../../parts/link.js'
import { List, usePage } from '../../parts/list/list.js'
import { SearchBox } from '../../parts/list/search-box.js'
import { actionColumn, type Column } from '../../parts/list/table.js'
import { PageHead } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Elapsed, Time } from '../../parts/time.js'
import { href, pageOf, query, setQuery } from '../../shell/router.js'
import { ForecastPanel } from '../forecast/forecast.js'
import './dependency.css'

/** More cards would hide the table; the search finds the others. */
const CARDS_MAX = 100
const REFRESH = { topics: ['circuits'], everyMs: 3_000 } as const

/** The dependencies of jobs and their circuits; unhealthy ones first. */
export default function Dependencies() {
  const q = query.value['q']
  const restricted = useQuery(
    `restricted circuits ${q ?? ''}`,
    signal => api.circuits.list({ q, restricted: true, limit: CARDS_MAX }, signal),
    REFRESH,
  )
  const closed = usePage(
    `closed circuits ${q ?? ''}`,
    (page, signal) => api.circuits.list({ ...page, q, restricted: false }, signal),
    REFRESH,
  )
  const refetch = (): void => {
    restricted.refetch()
    closed.refetch()
  }
  return (
    <>
      <PageHead
        title="Dependencies"
        sub="Services that jobs call or depend on. When one fails too often, its circuit opens: calls stop, probes test it, and the rate ramps up again."
        actions={<SearchBox label="Find a dependency" />}
      />
      <Answer query={restricted} lines={6}>
        {({ data: cards, page }) => (
          <div class="stack">
            {cards.length > 0 ? (
              <ul class="target-cards">
                {cards.map(circuit => (
                  <Card key={rowKey(circuit)} circuit={circuit} after={refetch} />
                ))}
              </ul>
            ) : (
              !q && (closed.data?.data.length ?? 0) > 0 && <p class="notice ok">All circuits are closed.</p>
            )}
            {page.next !== undefined && <p class="notice">More circuits are not closed. Find one by its name.</p>}
            <ForecastPanel dependency={q ?? ''} />
            <List
              query={closed}
              title="Closed circuits"
              label="Dependencies with a closed circuit"
              columns={columns(refetch)}
              rowKey={rowKey}
              size={({ data }) => plural(data.length, 'closed circuit')}
              empty={cards.length > 0 ? <NoneClosed /> : q ? <NotFound q={q} /> : <NoTargets />}
            />
          </div>
        )}
      </Answer>
    </>
  )
}

const rowKey = ({ key, tenantId }: CircuitView): string => JSON.stringify([tenantId ?? null, key])

/** The dependency and the tenant whose jobs share it, as words. */
const nameOf = ({ key, tenantId }: CircuitView): string => (tenantId === undefined ? key : `${key} for ${tenantId}`)

const jobsPage = ({ key, tenantId }: CircuitView): string => href('/jobs', { dependency: key, tenant: tenantId })

function Card({ circuit, after }: { readonly circuit: CircuitView; readonly after: () => void }) {
  const { state, forced, reason, probeJobId } = circuit
  return (
    <li class="target-card">
      <div class="target-card-main">
        <h2 class="row wrap">
          <Name circuit={circuit} />
          <StateMark state={state === 'open' ? 'circuit-open' : state} as="badge" />
          {forced && (
            <Badge hue="accent" icon="user">
              forced
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
          {probeJobId !== undefined && <Link to={pageOf('jobs', probeJobId)} text="Show probe job" />}
        </p>
      </div>
      <div class="target-card-side">
        <CircuitStrip circuit={circuit} />
        <div class="row wrap">
          <PageActions label={`Actions for ${nameOf(circuit)}`} actions={circuitActions(circuit, after)} />
        </div>
      </div>
    </li>
  )
}

function Name({ circuit: { key, tenantId } }: { readonly circuit: CircuitView }) {
  return (
    <span class="row tight">
      <Key name={key} />
      {tenantId !== undefined && <Badge>tenant {tenantId}</Badge>}
    </span>
  )
}

function Key({ name }: { readonly name: string }) {
  const prefix = endpointKey('')
  if (!name.startsWith(prefix)) return <span class="mono dependency-key">{name}</span>
  const rest = name.slice(prefix.length)
  // A URL in the `webhook` option of a job has no webhook endpoint.
  return isEndpointKey(name) ? (
    <Link to={pageOf('webhooks', rest)} look="link dependency-key" text={`Webhook ${rest}`} />
  ) : (
    <span class="dependency-key">Job webhooks to {rest}</span>
  )
}

function wordsOf({ state, forced, openUntil, notBefore }: CircuitView, at: number): string {
  if (forced === 'open') return 'Forced open: no calls and no probes until it is closed.'
  if (forced === 'closed') return 'Forced closed: calls continue regardless of failures.'
  const until = (time: string | undefined): string | undefined =>
    time !== undefined && Date.parse(time) > at ? age(Date.parse(time) - at) : undefined
  switch (state) {
    case 'open': {
      const probe = until(openUntil)
      return probe
        ? `Calls are held back. The next probe is due in ${probe}.`
        : 'Calls are held back. The next job is the probe.'
    }
    case 'half-open':
      return 'One job probes it now. If it succeeds, the rate ramps up.'
    case 'ramping': {
      const start = until(notBefore)
      return start ? `Throttled by Retry-After: the ramp starts in ${start}.` : 'It has recovered: the rate ramps up.'
    }
    default:
      return 'Calls pass.'
  }
}

/** The jobs that wait for the circuit. They lose no attempt. */
function Waiting({ circuit }: { readonly circuit: CircuitView }) {
  const { key: dependency, tenantId } = circuit
  const waiting = useQuery(
    `waits for ${rowKey(circuit)}`,
    async signal => (await api.jobs.list({ dependency, tenantId, state: 'waiting', limit: 1 }, signal)).count,
    { topics: ['circuits'], everyMs: 5_000 },
  )
  if (!waiting.data) return null
  if (waiting.data.value === 0) return <span class="muted">No jobs are waiting for it.</span>
  return (
    <a class="link" href={jobsPage(circuit)}>
      {plural(waiting.data, 'job waits', 'jobs wait')} for it and {waiting.data.value === 1 ? 'loses' : 'lose'} no
      attempt.
    </a>
  )
}

function Calls({ circuit: { calls } }: { readonly circuit: CircuitView }) {
  const all = calls.ok + calls.failed
  return all === 0 ? (
    <span>no calls in the window</span>
  ) : (
    <span>
      {count(calls.failed)} of {plural(all, 'call')} failed ({percent(calls.failed / all)})
    </span>
  )
}

/** What an operator can do with a circuit. */
function circuitActions(circuit: CircuitView, after: () => void): readonly (Action | false)[] {
  const { forced, state } = circuit
  const mayChange = may('operator')
  const isWell = state === 'closed' || state === 'ramping'
  return [
    mayChange &&
      (forced !== undefined || !isWell) && {
        text: forced ? 'Release' : 'Close circuit',
        icon: 'check',
        hint: forced ? 'Let the circuit decide again' : 'Waiting jobs resume step by step',
        as: 'button',
        onPress: () => void release(circuit, after),
      },
    { text: 'Show jobs', icon: 'jobs', href: jobsPage(circuit) },
    mayChange &&
      forced !== 'open' && {
        text: 'Force open',
        icon: 'pause',
        hint: 'Stops all calls until it is closed',
        onPress: () => void holdOpen(circuit, after),
      },
    mayChange &&
      forced !== 'closed' && {
        text: 'Force closed',
        icon: 'play',
        hint: 'Calls continue regardless of failures',
        onPress: () => void holdClosed(circuit, after),
      },
  ]
}

function release(circuit: CircuitView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.circuits.close(circuit),
    done: `Closed the circuit of ${nameOf(circuit)}; waiting jobs resume step by step`,
    after,
  })
}

function holdOpen(circuit: CircuitView, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: `Force the circuit of ${nameOf(circuit)} open?`,
      effect: 'All jobs that depend on it wait and lose no attempt. No probe is sent until the circuit is closed.',
      verb: 'Force open',
    },
    run: () => api.circuits.open(circuit),
    done: `Forced the circuit of ${nameOf(circuit)} open`,
    undo: () => api.circuits.close(circuit),
    after,
  })
}

function holdClosed(circuit: CircuitView, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: `Force the circuit of ${nameOf(circuit)} closed?`,
      effect:
        'Its jobs run regardless of failures and use up their attempts. The dependency is not protected until the circuit is released.',
      verb: 'Force closed',
      tone: 'danger',
    },
    run: () => api.circuits.close(circuit, true),
    done: `Forced the circuit of ${nameOf(circuit)} closed`,
    undo: () => api.circuits.close(circuit),
    after,
  })
}

function columns(after: () => void): readonly Column<CircuitView>[] {
  return [
    {
      title: 'Dependency',
      width: 'grow',
      phone: 'head',
      sort: ({ key }) => key,
      render: circuit => <Name circuit={circuit} />,
    },
    { title: 'Circuit', render: ({ state }) => <StateMark state={state} /> },
    { title: 'Calls in the window', render: circuit => <Calls circuit={circuit} /> },
    { title: 'Since', sort: ({ since }) => since, render: ({ since }) => <Time at={since} /> },
    actionColumn(
      circuit => <RowActions label={`Actions for ${nameOf(circuit)}`} actions={circuitActions(circuit, after)} />,
      'show',
    ),
  ]
}

function NoneClosed() {
  return <p class="muted">No circuit is closed.</p>
}

function NotFound({ q }: { readonly q: string }) {
  return (
    <Empty icon="search" title={`No dependency has “${q}” in its name`}>
      <button type="button" class="link-button" onClick={() => setQuery({ q: undefined })}>
        Show all
      </button>
    </Empty>
  )
}

function NoTargets() {
  return (
    <Empty icon="dependencies" title="No dependencies yet">
      A dependency appears when a job that calls a URL or sets <code>dependsOn</code> has run with a circuit breaker or
      a retry budget: <code>{'retry: { circuit: true }'}</code>.
    </Empty>
  )
}
