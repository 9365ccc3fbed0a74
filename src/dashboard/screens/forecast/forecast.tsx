import type { Forecast, ForecastBand, ForecastPlace } from '../../../core/forecast/forecast.js'
import { forecastWords } from '../../../core/forecast/words.js'
import { BLOCK_WORDS } from '../../../core/job/wait-reason.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { count } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may, session } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { Link } from '../../parts/link.js'
import { actionColumn, type Column, Table } from '../../parts/list/table.js'
import { Panel } from '../../parts/panel.js'
import { Words } from '../../parts/words.js'
import { href, pageOf } from '../../shell/router.js'

interface ForecastPanelProps {
  /** Which jobs it is about. */
  readonly of?: { readonly queue?: string; readonly fingerprint?: string; readonly tenantId?: string | undefined }
  /** Shows the places with a dependency whose name contains this text, and no others. */
  readonly dependency?: string | undefined
}

/** When the waiting jobs die if nothing improves, with a button to hold them. Without such jobs there is no panel. */
export function ForecastPanel({ of, dependency }: ForecastPanelProps) {
  const forecast = useQuery(`forecast ${JSON.stringify(of ?? {})}`, signal => api.stats.forecast(of, signal), {
    topics: ['jobs', 'queues', 'circuits'],
    everyMs: 15_000,
  })
  const { data, problem, refetch } = forecast
  if (!data) return null
  const places = data.places.filter(
    place => dependency === undefined || place.dependency?.toLowerCase().includes(dependency.toLowerCase()),
  )
  if (places.length === 0) return null
  return (
    <Panel
      title="Forecast"
      note="if every run fails from now on; without jobs that have not run yet"
      stale={problem !== undefined}
    >
      <div class="stack">
        {dependency === undefined && <Sentences forecast={data} />}
        <Table label="Forecast by queue" columns={columns(refetch)} rows={places} rowKey={rowKey} />
      </div>
    </Panel>
  )
}

/** Without milliseconds, so that equal seconds are one time. */
const toSecond = (at: string): string => at.replace(/\.\d+Z$/, 'Z')

function Sentences({ forecast }: { readonly forecast: Forecast }) {
  return (
    <p>
      {forecastWords(forecast, toSecond).map(sentence => (
        <span key={sentence}>
          <Words text={sentence} />{' '}
        </span>
      ))}
    </p>
  )
}

const rowKey = ({ queue, dependency, tenantId, held }: ForecastPlace): string =>
  JSON.stringify([queue, dependency ?? null, tenantId ?? null, held ?? null])

function columns(after: () => void): readonly Column<ForecastPlace>[] {
  return [
    { title: 'Queue', phone: 'head', render: ({ queue }) => <Link to={pageOf('queues', queue)} text={queue} /> },
    { title: 'Dependency', width: 'grow', render: place => <Dependency place={place} /> },
    { title: 'Jobs', align: 'end', render: ({ jobs }) => count(jobs) },
    { title: 'First death', render: ({ first, held }) => (first ? <Band band={first} /> : held && BLOCK_WORDS[held]) },
    { title: 'Last death', render: ({ last }) => (last ? <Band band={last} /> : '–') },
    actionColumn(place => <Hold place={place} after={after} />, 'show'),
  ]
}

function Dependency({ place: { dependency, tenantId } }: { readonly place: ForecastPlace }) {
  if (dependency === undefined) return <span class="muted">–</span>
  return (
    <>
      <Link to={href('/dependencies', { q: dependency })} text={dependency} />
      {tenantId !== undefined && <span class="muted"> tenant {tenantId}</span>}
    </>
  )
}

function Band({ band: { earliest, latest } }: { readonly band: ForecastBand }) {
  const [from, to] = [toSecond(earliest), toSecond(latest)]
  return <Words text={from === to ? from : `${from} – ${to}`} />
}

/** Held jobs use no attempts: the circuit is opened, or the queue is paused if there is no circuit. */
function Hold({ place, after }: { readonly place: ForecastPlace; readonly after: () => void }) {
  // Queues belong to all tenants.
  if (!may('operator') || session.value?.tenantId !== undefined || place.held !== undefined) return null
  const { queue, dependency, hasCircuit } = place
  const isCircuit = dependency !== undefined && hasCircuit === true
  return (
    <Button
      text="Hold"
      size="sm"
      icon="pause"
      tip={isCircuit ? `Force the circuit of ${dependency} open` : `Pause queue ${queue}`}
      onPress={() => void (isCircuit ? holdCircuit(place, dependency, after) : holdQueue(queue, after))}
    />
  )
}

function holdCircuit({ tenantId }: ForecastPlace, key: string, after: () => void): Promise<unknown> {
  const circuit = { key, ...(tenantId !== undefined && { tenantId }) }
  return act({
    confirm: {
      title: `Hold the jobs of ${key}${tenantId === undefined ? '' : ` for ${tenantId}`}?`,
      effect:
        'The circuit is forced open: all jobs that depend on it wait and lose no attempt. No probe is sent until the circuit is closed.',
      verb: 'Force open',
    },
    run: () => api.circuits.open(circuit),
    done: `Forced the circuit of ${key} open`,
    undo: () => api.circuits.close(circuit),
    after,
  })
}

function holdQueue(queue: string, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: `Hold the jobs of queue ${queue}?`,
      effect: 'The queue is paused: no job of it starts, and none loses an attempt, until it is resumed.',
      verb: 'Pause queue',
    },
    run: () => api.queues.pause(queue),
    done: `Paused queue ${queue}; running jobs continue`,
    undo: () => api.queues.resume(queue),
    after,
  })
}
