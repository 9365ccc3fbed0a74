import type { IncidentEntry, IncidentError, IncidentReport } from '../../../core/incident/report.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { copyText } from '../../data/copy.js'
import { clockText, count, exactTimes, timeMode } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { apiRange, range, rangeParameters, rangeWords } from '../../data/range.js'
import { isTenant } from '../../data/session.js'
import { Badge, type Hue } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { Answer, Empty } from '../../parts/empty.js'
import { Icon, type IconName } from '../../parts/icon.js'
import { Link } from '../../parts/link.js'
import { type Column, Table } from '../../parts/list/table.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { href, pageOf } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { Outcomes } from '../overview/overview-outcomes.js'
import { IncidentAxis } from './incident-axis.js'
import './incident.css'

/** What happened in the time range: sentences, one axis, and every line with a link to its record. */
export default function Incident() {
  useTitle('Incident')
  const asked = apiRange(range.value)
  const report = useQuery(`incident ${JSON.stringify(asked)}`, signal => api.stats.incident(asked, signal), {
    topics: ['dead', 'redrives', 'alerts'],
    everyMs: 15_000,
  })
  return (
    <>
      <PageHead
        title="Incident"
        sub={`What happened ${rangeWords(range.value)}`}
        actions={
          report.data && (
            <Button
              text="Copy report"
              icon="copy"
              onPress={() => void copyText(reportText(report.data!), 'Copied incident report')}
            />
          )
        }
      />
      <Answer query={report} lines={10}>
        {data => (
          <div class="stack">
            <Panel title="Summary">
              <div class="stack tight">
                {data.summary.map(line => (
                  <p key={line}>{line}</p>
                ))}
                <Gaps report={data} />
              </div>
            </Panel>
            {!isTenant.value && <Outcomes />}
            <IncidentAxis report={data} />
            <Entries report={data} />
            {data.errors.length > 0 && <Errors errors={data.errors} />}
          </div>
        )}
      </Answer>
    </>
  )
}

function Gaps({ report: { hasActions, complete } }: { readonly report: IncidentReport }) {
  return (
    <>
      {!hasActions && <p class="muted">Changes by operators are left out: only admins may read the audit log.</p>}
      {!complete && (
        <p class="notice wait">There is too much to show. The oldest is left out: choose a shorter range.</p>
      )}
    </>
  )
}

export const KINDS: Readonly<
  Record<IncidentEntry['kind'], { readonly text: string; readonly icon: IconName; readonly hue: Hue }>
> = {
  error: { text: 'Errors', icon: 'warning', hue: 'dead' },
  circuit: { text: 'Circuits', icon: 'dependencies', hue: 'retry' },
  alert: { text: 'Alerts', icon: 'alerts', hue: 'dead' },
  deploy: { text: 'Deploys', icon: 'up', hue: 'run' },
  redrive: { text: 'Redrives', icon: 'redrive', hue: 'ok' },
  action: { text: 'Actions', icon: 'user', hue: 'off' },
}

/** The page of the record behind a line. */
export function entryHref({ kind, target, tenantId }: IncidentEntry): string {
  switch (kind) {
    case 'error':
      return pageOf('dead', target, { tenant: tenantId, ...rangeParameters() })
    case 'circuit':
      return href('/dependencies', { q: target })
    case 'alert':
      return href('/alerts', { alert: target })
    case 'deploy':
      return href('/workers', { build: target })
    case 'redrive':
      return pageOf('redrives', target)
    case 'action':
      return href('/audit', { entry: target })
  }
}

function Entries({ report: { timeline, from, to } }: { readonly report: IncidentReport }) {
  if (timeline.length === 0) {
    return (
      <Panel title="Timeline">
        <Empty icon="check" title="No events in this time range" good>
          No error began, no circuit opened, no alert fired, and no change was made.
        </Empty>
      </Panel>
    )
  }
  const isLong = Date.parse(to) - Date.parse(from) > DAY_MS
  return (
    <Panel title="Timeline" note={`${count(timeline.length)} events`} flush>
      <ol class="incident-entries">
        {timeline.map((entry, i) => (
          <li key={i} class={entry.isTrouble ? 'is-trouble' : undefined}>
            <At at={entry.at} isLong={isLong} />
            <span class={`incident-kind ${KINDS[entry.kind].hue}`}>
              <Icon name={KINDS[entry.kind].icon} size={14} />
              <span>{entry.kind}</span>
            </span>
            <Link to={entryHref(entry)} text={entry.text} />
          </li>
        ))}
      </ol>
    </Panel>
  )
}

const DAY_MS = 86_400_000

/** The time of day, with the date if the range is longer than a day. */
function At({ at, isLong }: { readonly at: string; readonly isLong: boolean }) {
  const ms = Date.parse(at)
  const text = clockText(ms, timeMode.value === 'utc' ? 'utc' : 'local')
  return (
    <time class="mono nowrap" dateTime={at} data-tip={exactTimes(ms, now.peek())}>
      {isLong ? text.slice(5) : text.slice(11)}
    </time>
  )
}

const COLUMNS: readonly Column<IncidentError>[] = [
  {
    title: 'Error',
    phone: 'head',
    render: ({ fingerprint, title }) => <Link to={pageOf('dead', fingerprint, rangeParameters())} text={title} />,
  },
  {
    title: 'Course',
    render: ({ course }) => <Badge hue={course === 'continued' ? 'off' : 'dead'}>{course}</Badge>,
  },
  { title: 'Failed runs', align: 'end', render: ({ failures }) => count(failures) },
  { title: 'Same time before', align: 'end', render: ({ before }) => count(before) },
  { title: 'Died', align: 'end', render: ({ deaths }) => count(deaths) },
  { title: 'Queues', render: ({ queues }) => <span class="clip">{queues.join(', ')}</span> },
]

function Errors({ errors }: { readonly errors: readonly IncidentError[] }) {
  return (
    <Panel title="Error groups" flush>
      <Table label="Error groups" columns={COLUMNS} rows={errors} rowKey={({ fingerprint }) => fingerprint} />
    </Panel>
  )
}

function reportText({ from, to, summary, timeline }: IncidentReport): string {
  const lines = timeline.map(({ at, text }) => `- ${clockText(Date.parse(at), 'utc')}: ${text}`)
  return [`## Incident ${from} – ${to}`, '', ...summary, '', ...lines].join('\n')
}
