import { toMs } from '../../../core/values/duration.js'
import type { ErrorBreakdown as Breakdown } from '../../../engine/dead/breakdown.js'
import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import { Chart } from '../../charts/chart.js'
import { barPaths, valueScale } from '../../charts/time-chart.js'
import * as api from '../../data/api.js'
import { clockText, count, duration, percent, plural, shortId } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { apiRange, between, range, rangeParameters, rangeWords } from '../../data/range.js'
import { Answer, Incomplete } from '../../parts/empty.js'
import { Link } from '../../parts/link.js'
import { Panel } from '../../parts/panel.js'
import { go, href, pageOf } from '../../shell/router.js'

/** The failed runs of an error in the time range: over time, and by tenant, queue, job name, worker and build. */
export function ErrorBreakdown({ group }: { readonly group: ErrorGroupView }) {
  const { fingerprint, tenantId } = group
  const asked = { ...apiRange(range.value), tenantId }
  const found = useQuery(
    `breakdown ${fingerprint} ${JSON.stringify(asked)}`,
    signal => api.dead.breakdown(fingerprint, asked, signal),
    { topics: ['dead'], everyMs: 10_000 },
  )
  return (
    <Panel stale={found.problem !== undefined}>
      <Answer query={found} lines={9}>
        {data => (
          <div class="stack">
            <Failures data={data} tenantId={tenantId} />
            {data.failures === 0 ? (
              <p class="muted">No run failed with this error in this time range.</p>
            ) : (
              <div class="error-shares">
                <Shares title="Job names" shares={data.names} all={data.failures} to={name => jobsOf(data, { name })} />
                <Shares
                  title="Queues"
                  shares={data.queues}
                  all={data.failures}
                  to={queue => pageOf('queues', queue, rangeParameters())}
                />
                <Shares
                  title="Tenants"
                  shares={data.tenants}
                  all={data.failures}
                  rest="No tenant"
                  to={tenant => pageOf('dead', fingerprint, { tenant, ...rangeParameters() })}
                />
                <Shares title="Workers" shares={data.workers} all={data.failures} shown={shortId} />
                <Shares title="Builds" shares={data.builds} all={data.failures} />
              </div>
            )}
            {!data.complete && <Incomplete />}
          </div>
        )}
      </Answer>
    </Panel>
  )
}

/** The jobs that failed in the range of the breakdown. */
const jobsOf = ({ fingerprint, from, to }: Breakdown, more: { readonly name?: string }): string =>
  href('/jobs', { fingerprint, by: 'failed', ...more, ...between(Date.parse(from), Date.parse(to)) })

function Failures({ data, tenantId }: { readonly data: Breakdown; readonly tenantId: string | undefined }) {
  const { points, fingerprint, failures, deaths } = data
  const stepMs = toMs(data.step, 'step')
  const times = points.map(({ at }) => Date.parse(at))
  const spoken = `${plural(failures, 'failed run')}, ${plural(deaths, 'job')} died ${rangeWords(range.value)}.`
  return (
    <Chart
      unit={`failed runs per ${duration(stepMs)}`}
      title="Failed runs"
      summary={spoken}
      spoken={spoken}
      table={{
        columns: ['From', 'Failed runs', 'Jobs that died'],
        rows: [...points]
          .reverse()
          .map(point => [clockText(Date.parse(point.at), 'local'), point.failures, point.deaths]),
      }}
      legend={<span class="key key-outcome is-failed">failed runs</span>}
      times={times}
      stepMs={stepMs}
      height={180}
      scale={valueScale(Math.max(0, ...points.map(point => point.failures)))}
      factsAt={index => ({
        title: `${clockText(times[index]!, 'local').slice(0, 16)} – ${clockText(times[index]! + stepMs, 'local').slice(11, 16)}`,
        lines: [
          ['failed runs', count(points[index]!.failures)],
          ['jobs that died', count(points[index]!.deaths)],
        ],
      })}
      onPick={index =>
        go('/jobs', { fingerprint, tenant: tenantId, by: 'failed', ...between(times[index]!, times[index]! + stepMs) })
      }
      draw={frame =>
        barPaths(times, stepMs, [points.map(point => point.failures)], frame).map(path => (
          <path key="failures" class="outcome is-failed" d={path} />
        ))
      }
    />
  )
}

const SHOWN_MAX = 6

interface SharesProps {
  readonly title: string
  readonly shares: Breakdown['queues']
  readonly all: number
  /** The name of the part without a value. */
  readonly rest?: string
  readonly to?: (value: string) => string
  readonly shown?: (value: string) => string
}

function Shares({ title, shares, all, rest = 'Others', to, shown = value => value }: SharesProps) {
  if (shares.length === 0) return null
  const more = shares.slice(SHOWN_MAX)
  return (
    <section class="stack tight" aria-label={title}>
      <h3>{title}</h3>
      <ul class="error-share-list">
        {shares.slice(0, SHOWN_MAX).map(({ value, failures }) => (
          <li key={value ?? ''}>
            <span class="clip" data-tip={value}>
              {value === undefined ? (
                <span class="muted">{rest}</span>
              ) : to ? (
                <Link to={to(value)} text={shown(value)} />
              ) : (
                shown(value)
              )}
            </span>
            <progress value={failures} max={Math.max(1, all)} aria-label={`Share of ${value ?? rest}`} />
            <span class="number">{count(failures)}</span>
            <span class="muted number">{percent(failures / all)}</span>
          </li>
        ))}
      </ul>
      {more.length > 0 && <span class="muted">{count(more.length)} more</span>}
    </section>
  )
}
