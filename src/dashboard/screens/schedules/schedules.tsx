import { type Signal, useSignal } from '@preact/signals'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import * as api from '../../data/api.js'
import { asCurl } from '../../data/copy.js'
import { count, plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import { Tag } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { CodeSample } from '../../parts/code-sample.js'
import { Answer, Empty } from '../../parts/empty.js'
import { Pager } from '../../parts/list/pager.js'
import { type Column, Table } from '../../parts/list/table.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { href, query, segment } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { pauseSchedules, resumeSchedules, ScheduleMenu } from './schedule-actions.js'
import { Countdown } from './schedule-occurrences.js'
import { LastRuns } from './schedule-runs.js'
import { expressionOf, jobNameOf, missedText, whenWords } from './schedule-words.js'
import './schedule.css'

/** Each row requests its last runs, so pages are small. */
const LIMIT = 25

/** The list of schedules. */
export default function Schedules() {
  useTitle('Schedules')
  const { cursor } = query.value
  const schedules = useQuery(
    `schedules ${cursor ?? ''}`,
    signal => api.schedules.list({ limit: LIMIT, ...(cursor !== undefined && { cursor }) }, signal),
    { topics: ['schedules'], everyMs: 10_000 },
  )
  return (
    <>
      <PageHead
        title="Schedules"
        actions={
          may('operator') && (
            <Button tone="primary" icon="plus" href={href('/schedules/new')}>
              New schedule
            </Button>
          )
        }
      />
      <Answer query={schedules} lines={8}>
        {({ data, page }) =>
          data.length === 0 ? (
            <NoSchedules />
          ) : (
            <List rows={data} next={page.next} stale={schedules.problem !== undefined} after={schedules.refetch} />
          )
        }
      </Answer>
    </>
  )
}

interface ListProps {
  readonly rows: readonly ScheduleView[]
  readonly next: string | undefined
  readonly stale: boolean
  readonly after: () => void
}

function List({ rows, next, stale, after }: ListProps) {
  const selected = useSignal<ReadonlySet<string>>(new Set())
  return (
    <>
      <Panel flush>
        <Table
          label="Schedules"
          columns={columns(after)}
          rows={rows}
          rowKey={({ id }) => id}
          href={({ id }) => href(`/schedules/${segment(id)}`)}
          selected={may('operator') ? selected : undefined}
          stale={stale}
        />
      </Panel>
      <Pager next={next}>{plural(rows.length, 'schedule')}</Pager>
      <Bulk rows={rows} selected={selected} after={after} />
    </>
  )
}

interface BulkProps extends Pick<ListProps, 'rows' | 'after'> {
  readonly selected: Signal<ReadonlySet<string>>
}

function Bulk({ rows, selected, after }: BulkProps) {
  const chosen = rows.filter(({ id }) => selected.value.has(id))
  if (chosen.length === 0) return null
  const idsOf = (state: ScheduleView['state']): readonly string[] =>
    chosen.filter(schedule => schedule.state === state).map(({ id }) => id)
  const [active, paused] = [idsOf('active'), idsOf('paused')]
  const done = (): void => {
    selected.value = new Set()
    after()
  }
  return (
    <div class="bulk-bar">
      <span>{count(chosen.length)} selected</span>
      <Button icon="pause" disabled={active.length === 0} onPress={() => void pauseSchedules(active, done)}>
        {`Pause ${plural(active.length, 'schedule')}`}
      </Button>
      <Button icon="play" disabled={paused.length === 0} onPress={() => void resumeSchedules(paused, done)}>
        {`Resume ${plural(paused.length, 'schedule')}`}
      </Button>
      <Button
        tone="quiet"
        onPress={() => {
          selected.value = new Set()
        }}
      >
        {' '}
        Clear selection{' '}
      </Button>
    </div>
  )
}

function columns(after: () => void): readonly Column<ScheduleView>[] {
  return [
    { key: 'what', title: 'Schedule', width: 'grow', phone: 'head', render: schedule => <What schedule={schedule} /> },
    { key: 'state', title: 'State', render: ({ state }) => <StateMark state={state} /> },
    {
      key: 'next',
      title: 'Next run',
      render: ({ state, nextOccurrenceAt }) => (
        <Countdown at={state === 'active' ? nextOccurrenceAt : undefined} none={state === 'active' ? 'never' : '–'} />
      ),
    },
    { key: 'last', title: 'Last runs', render: schedule => <LastRuns schedule={schedule} /> },
    {
      key: 'counts',
      title: 'Runs',
      align: 'end',
      render: schedule => <Counts schedule={schedule} />,
    },
    {
      key: 'rules',
      title: 'Overlap, missed runs',
      phone: 'hide',
      render: ({ overlap, missed }) => (
        <span class="schedule-rules ink-2">
          <span>{overlap}</span>
          <span class="muted">{missedText(missed)}</span>
        </span>
      ),
    },
    {
      key: 'more',
      title: <span class="off-screen">Actions</span>,
      phone: 'hide',
      render: schedule => <ScheduleMenu schedule={schedule} after={after} />,
    },
  ]
}

function What({ schedule }: { readonly schedule: ScheduleView }) {
  const { id, timeZone, tenantId, cron } = schedule
  const words = whenWords(schedule)
  return (
    <span class="schedule-what">
      <span class="row tight">
        <a class="strong clip" href={href(`/schedules/${segment(id)}`)}>
          {id}
        </a>
        {tenantId !== undefined && <Tag>{tenantId}</Tag>}
      </span>
      <span class="ink-2 clip">
        {words ?? <span class="mono">{expressionOf(schedule)}</span>}
        {cron !== undefined && <span class="muted">, {timeZone}</span>}
      </span>
      <span class="muted mono clip">
        {words !== undefined && cron !== undefined ? `${cron} → ` : '→ '}
        {jobNameOf(schedule)}
      </span>
    </span>
  )
}

function Counts({ schedule: { fired, skipped, missedCount } }: { readonly schedule: ScheduleView }) {
  return (
    <span class="schedule-rules">
      <span>{count(fired)}</span>
      {skipped > 0 && (
        <span class="muted" data-tip="The previous run was still active">
          {count(skipped)} skipped
        </span>
      )}
      {missedCount > 0 && (
        <span class="retry" data-tip="No scheduler was running">
          {count(missedCount)} missed
        </span>
      )}
    </span>
  )
}

const EXAMPLE = {
  cron: '0 9 * * MON',
  timeZone: 'Europe/Paris',
  http: { method: 'POST', url: 'https://api.example.com/digest' },
}

function NoSchedules() {
  return (
    <div class="stack">
      <Empty icon="schedules" title="No schedules">
        A schedule creates a job for each occurrence, exactly once with any number of processes. A schedule that calls a
        URL needs no code.
      </Empty>
      <Panel title="Example: a call every Monday at nine">
        <CodeSample
          label="Schedule as code"
          sample={{
            curl: asCurl('PUT', '/schedules/weekly-digest', EXAMPLE),
            ts: `await chronos.schedules.put('weekly-digest', {
  cron: '0 9 * * MON',
  timeZone: 'Europe/Paris',
  http: { method: 'POST', url: 'https://api.example.com/digest' },
})`,
            cli: `chronos schedules put weekly-digest --cron '0 9 * * MON' --tz Europe/Paris \\
  --call https://api.example.com/digest`,
          }}
        />
      </Panel>
    </div>
  )
}
