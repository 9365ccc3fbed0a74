import { useSignal } from '@preact/signals'
import type { IntegrityReport } from '../../../engine/upkeep/integrity.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { bytes, count, duration } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { Copyable } from '../../parts/copyable.js'
import { Answer } from '../../parts/empty.js'
import { Icon } from '../../parts/icon.js'
import { Link } from '../../parts/link.js'
import { type Column, Table } from '../../parts/list/table.js'
import { Facts, PageHead, Panel } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { base, pageOf } from '../../shell/router.js'

/** The server, its store, health checks and the integrity check. */
export default function System() {
  const system = useQuery('system', api.system.get, { everyMs: 5_000 })
  return (
    <>
      <PageHead
        title="System"
        actions={
          <>
            <Button text="Open metrics" size="sm" icon="external" href={`${base}metrics`} external />
            <Button text="Open API document" size="sm" icon="external" href={`${base}api/openapi.json`} external />
          </>
        }
      />
      <Answer query={system} lines={10}>
        {data => (
          <div class={`stack${system.problem ? ' stale' : ''}`}>
            <div class="columns">
              <StorePanel system={data} />
              <ServerPanel system={data} />
              <Checks system={data} />
            </div>
            {may('operator') && <Balance />}
            <SettingsPanel system={data} />
          </div>
        )}
      </Answer>
    </>
  )
}

interface OfSystem {
  readonly system: api.System
}

function StorePanel({ system: { store, now: storeNow } }: OfSystem) {
  const skew = Math.abs(Date.parse(storeNow) - now.peek())
  return (
    <Panel title="Store">
      <Facts
        facts={[
          ['Engine', store.engine],
          ['Location', <Copyable text={store.location} what="Location" />],
          ['Schema', String(store.schemaVersion)],
          ['Durability', store.promise],
          ['Clock', skew < SKEW_MS ? 'in sync with this browser' : `differs from this browser by ${duration(skew)}`],
        ]}
      />
    </Panel>
  )
}

/** Request latency plus the update interval of a second. */
const SKEW_MS = 15_000

function ServerPanel({ system: { version, node, startedAt, uptimeMs, workers, maintenance, events } }: OfSystem) {
  return (
    <Panel title="Server">
      <Facts
        facts={[
          ['Chronos', version],
          ['Node.js', node],
          ['Uptime', duration(uptimeMs)],
          ['Started', <Time at={startedAt} />],
          ['Workers here', workers === 0 ? 'none' : count(workers)],
          ['Maintenance', maintenance ? 'runs in this process' : 'not in this process'],
          ['Listeners', `${count(events.listeners)} of ${count(events.maxListeners)}`],
        ]}
      />
    </Panel>
  )
}

function Checks({ system: { checks, ready } }: OfSystem) {
  return (
    <Panel title="Checks" note={ready ? 'ready' : 'not ready'}>
      <ul class="checks">
        {checks.map(({ name, isOk, detail }) => (
          <li key={name} class="row top">
            <span class={isOk ? 'ok' : 'dead'}>
              <Icon name={isOk ? 'check' : 'close'} />
            </span>
            <span>
              <span class="strong">{name}</span>{' '}
              <span class="muted">
                {isOk ? '' : 'failed: '}
                {detail}
              </span>
            </span>
          </li>
        ))}
      </ul>
      <p class="muted">
        More in a terminal: <code>chronos doctor</code>
      </p>
    </Panel>
  )
}

type QueueBalance = IntegrityReport['queues'][number]

const BALANCE: readonly Column<QueueBalance>[] = [
  {
    title: 'Queue',
    width: 'grow',
    phone: 'head',
    render: ({ queue }) => <a href={pageOf('queues', queue)}>{queue}</a>,
  },
  { title: 'Enqueued', align: 'end', render: ({ enqueued }) => count(enqueued) },
  { title: '= waiting', align: 'end', render: ({ rows }) => count(rows.waiting) },
  { title: '+ running', align: 'end', render: ({ rows }) => count(rows.running) },
  { title: '+ succeeded', align: 'end', render: ({ rows }) => count(rows.succeeded) },
  { title: '+ dead', align: 'end', render: ({ rows }) => count(rows.dead) },
  { title: '+ cancelled', align: 'end', render: ({ rows }) => count(rows.cancelled) },
  { title: '+ removed', align: 'end', render: ({ removed }) => count(removed) },
  {
    title: 'Balanced',
    render: ({ isBalanced, problem }) => (
      <span class={`row tight ${isBalanced ? 'ok' : 'dead'}`}>
        <Icon name={isBalanced ? 'check' : 'close'} size={14} />
        {isBalanced ? 'yes' : problem}
      </span>
    ),
  },
]

/** The integrity check, on request because it reads every job. */
function Balance() {
  const report = useSignal<IntegrityReport | undefined>(undefined)
  const isBusy = useSignal(false)
  const run = async (): Promise<void> => {
    isBusy.value = true
    const found = await act({
      run: () => api.system.audit(),
      done: ({ isSound }) => (isSound ? 'Every job is accounted for' : { text: 'Jobs are missing', tone: 'problem' }),
    })
    isBusy.value = false
    if (found) report.value = found
  }
  const found = report.value
  return (
    <Panel
      title="Integrity check"
      note={found && <Time at={found.at} />}
      flush={found !== undefined}
      actions={<Button text="Run check" size="sm" icon="audit" busy={isBusy.value} onPress={() => void run()} />}
    >
      {found === undefined ? (
        <p class="muted">
          Checks that every job ever enqueued is waiting, running, succeeded, dead, cancelled or removed.
        </p>
      ) : (
        <>
          <Table label="Balance of each queue" columns={BALANCE} rows={found.queues} rowKey={({ queue }) => queue} />
          {found.findings.map(({ jobId, what, detail }) => (
            <p key={`${jobId} ${what}`} class="nothing dead">
              <Link to={pageOf('jobs', jobId)} text={jobId} /> {detail}
            </p>
          ))}
        </>
      )}
    </Panel>
  )
}

function SettingsPanel({ system: { settings } }: OfSystem) {
  return (
    <Panel title="Configuration" note="without secrets">
      <Facts
        columns={2}
        facts={Object.entries(settings).map(([name, value]) => [name, <code key={name}>{shown(name, value)}</code>])}
      />
    </Panel>
  )
}

function shown(name: string, value: unknown): string {
  if (typeof value === 'number')
    return name.endsWith('Bytes') ? bytes(value) : name.endsWith('Ms') ? duration(value) : count(value)
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  if (value === '') return '/'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
