import { type Signal, useSignal } from '@preact/signals'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import * as api from '../../data/api.js'
import { asCurl } from '../../data/copy.js'
import { count, jobTitle, plural } from '../../data/format.js'
import { may } from '../../data/session.js'
import { Tag } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { CodeSample } from '../../parts/code-sample.js'
import { Empty } from '../../parts/empty.js'
import { RowActions } from '../../parts/layer/actions.js'
import { Link } from '../../parts/link.js'
import { List, usePage } from '../../parts/list/list.js'
import { actionColumn, type Column } from '../../parts/list/table.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { href, pageOf } from '../../shell/router.js'
import { scheduleActions, turnSchedules } from './schedule-actions.js'
import { Countdown } from './schedule-occurrences.js'
import { LastRuns } from './schedule-runs.js'
import { expressionOf, missedText, whenWords } from './schedule-words.js'
import './schedule.css'

/** Each row requests its last runs, so pages are small. */
const LIMIT = 25

export default function Schedules() {
  const schedules = usePage('schedules', api.schedules.list, { limit: LIMIT, topics: ['schedules'], everyMs: 10_000 })
  const selected = useSignal<ReadonlySet<string>>(new Set())
  return (
    <>
      <PageHead
        title="Schedules"
        actions={
          may('operator') && <Button text="Create schedule" tone="primary" icon="plus" href={href('/schedules/new')} />
        }
      />
      <List
        query={schedules}
        label="Schedules"
        columns={columns(schedules.refetch)}
        href={({ id }) => pageOf('schedules', id)}
        selected={may('operator') ? selected : undefined}
        size={({ data }) => plural(data.length, 'schedule')}
        empty={<NoSchedules />}
      />
      <Bulk rows={schedules.data?.data ?? []} selected={selected} after={schedules.refetch} />
    </>
  )
}

interface BulkProps {
  readonly rows: readonly ScheduleView[]
  readonly selected: Signal<ReadonlySet<string>>
  readonly after: () => void
}

function Bulk({ rows, selected, after }: BulkProps) {
  const chosen = rows.filter(({ id }) => selected.value.has(id))
  if (chosen.length === 0) return null
  const idsOf = (state: ScheduleView['state']): readonly string[] =>
    chosen.filter(schedule => schedule.state === state).map(({ id }) => id)
  const [active, paused] = [idsOf('active'), idsOf('paused')]
  const clear = (): void => {
    selected.value = new Set()
  }
  const turn = (ids: readonly string[], to: 'pause' | 'resume') => () =>
    void turnSchedules(ids, to, () => {
      clear()
      after()
    })
  return (
    <div class="bulk-bar">
      <span>{count(chosen.length)} selected</span>
      <Button
        text={`Pause ${plural(active.length, 'schedule')}`}
        icon="pause"
        disabled={active.length === 0 && 'No selected schedule is active'}
        onPress={turn(active, 'pause')}
      />
      <Button
        text={`Resume ${plural(paused.length, 'schedule')}`}
        icon="play"
        disabled={paused.length === 0 && 'No selected schedule is paused'}
        onPress={turn(paused, 'resume')}
      />
      <Button text="Clear selection" tone="quiet" onPress={clear} />
    </div>
  )
}

function columns(after: () => void): readonly Column<ScheduleView>[] {
  return [
    {
      title: 'Schedule',
      width: 'grow',
      phone: 'head',
      sort: ({ id }) => id,
      render: schedule => <What schedule={schedule} />,
    },
    { title: 'State', sort: ({ state }) => state, render: ({ state }) => <StateMark state={state} /> },
    {
      title: 'Next run',
      render: ({ state, nextOccurrenceAt }) => (
        <Countdown at={state === 'active' ? nextOccurrenceAt : undefined} none={state === 'active' ? 'never' : '–'} />
      ),
    },
    { title: 'Last runs', render: schedule => <LastRuns schedule={schedule} /> },
    { title: 'Runs', align: 'end', render: schedule => <Counts schedule={schedule} /> },
    {
      title: 'Overlap, missed runs',
      phone: 'hide',
      render: ({ overlap, missed }) => (
        <span class="schedule-rules ink-2">
          <span>{overlap}</span>
          <span class="muted">{missedText(missed)}</span>
        </span>
      ),
    },
    actionColumn(schedule => (
      <RowActions label={`Actions for ${schedule.id}`} actions={scheduleActions(schedule, after)} />
    )),
  ]
}

function What({ schedule }: { readonly schedule: ScheduleView }) {
  const { id, timeZone, tenantId, cron } = schedule
  const words = whenWords(schedule)
  return (
    <span class="schedule-what">
      <span class="row tight">
        <Link to={pageOf('schedules', id)} look="strong clip" text={id} />
        {tenantId !== undefined && <Tag>{tenantId}</Tag>}
      </span>
      <span class="ink-2 clip">
        {words ?? <span class="mono">{expressionOf(schedule)}</span>}
        {cron !== undefined && <span class="muted">, {timeZone}</span>}
      </span>
      <span class="muted mono clip">
        {words !== undefined && cron !== undefined ? `${cron} → ` : '→ '}
        {jobTitle(schedule.job, schedule.payload)}
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
