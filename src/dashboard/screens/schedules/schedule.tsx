import type { ScheduleView } from '../../../engine/schedules/view.js'
import { RunStrip } from '../../charts/run-strip.js'
import * as api from '../../data/api.js'
import { count, duration } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import type { ScreenProps } from '../../lazy.js'
import { Tag } from '../../parts/badge.js'
import { Answer, Detail, Empty } from '../../parts/empty.js'
import { Icon } from '../../parts/icon.js'
import { Json } from '../../parts/json.js'
import { PageActions } from '../../parts/layer/actions.js'
import { Link } from '../../parts/link.js'
import { List } from '../../parts/list/list.js'
import type { Column } from '../../parts/list/table.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Tabs } from '../../parts/tabs.js'
import { Tile, Tiles } from '../../parts/tile.js'
import { Time } from '../../parts/time.js'
import { go, href, pageOf } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { jobColumns } from '../jobs/jobs-columns.js'
import { scheduleActions } from './schedule-actions.js'
import { ScheduleFacts } from './schedule-facts.js'
import { Countdown, NextRuns, reachOf } from './schedule-occurrences.js'
import { STRIP_MAX, stripOf } from './schedule-runs.js'
import { expressionOf, whenWords } from './schedule-words.js'
import '../jobs/jobs.css'
import './schedule.css'

/** One schedule: upcoming runs, past jobs and configuration. */
export default function Schedule({ params }: ScreenProps) {
  const id = params['id']!
  useTitle(id)
  const found = useQuery(`schedule ${id}`, signal => api.schedules.get(id, signal), {
    topics: ['schedules'],
    everyMs: 10_000,
  })
  return (
    <Detail
      query={found}
      icon="schedules"
      missing={`Schedule ${id} not found`}
      why="The schedule was deleted, or the address is mistyped."
      list={{ href: href('/schedules'), text: 'All schedules' }}
    >
      {data => <Found schedule={data} after={found.refetch} />}
    </Detail>
  )
}

function Found({ schedule, after }: { readonly schedule: ScheduleView; readonly after: () => void }) {
  const { id, state, cron, timeZone, payload } = schedule
  const words = whenWords(schedule)
  return (
    <>
      <PageHead
        up={{ href: href('/schedules'), text: 'Schedules' }}
        title={
          <>
            {id}
            <StateMark state={state} as="badge" />
          </>
        }
        sub={
          <>
            {words}
            {words !== undefined && cron !== undefined && ' · '}
            {(words === undefined || cron !== undefined) && <span class="mono">{expressionOf(schedule)}</span>}
            {cron !== undefined && ` · ${timeZone}`}
          </>
        }
        actions={
          <PageActions label={`Actions for ${id}`} actions={scheduleActions(schedule, after, () => go('/schedules'))} />
        }
      />
      <div class="stack">
        {state === 'paused' && (
          <p class="notice retry">
            <Icon name="pause" /> Paused: no jobs are created, and occurrences during the pause are not caught up.
          </p>
        )}
        <Numbers schedule={schedule} />
        <div class="columns main-aside">
          <div class="stack">
            <Runs id={id} />
            <Panel title={schedule.job === 'http' ? 'Call' : 'Payload'}>
              <Json value={payload} what="Payload" />
            </Panel>
          </div>
          <div class="stack">
            <Upcoming schedule={schedule} />
            <ScheduleFacts schedule={schedule} />
          </div>
        </div>
      </div>
    </>
  )
}

function Numbers({ schedule }: { readonly schedule: ScheduleView }) {
  const { id, state, nextOccurrenceAt, lastOccurrenceAt, lastJobId, fired, skipped, missedCount } = schedule
  return (
    <Tiles>
      <Tile
        label="Next run"
        value={<Countdown at={state === 'active' ? nextOccurrenceAt : undefined} none={state} />}
      />
      <Tile
        label="Last run"
        value={<Time at={lastOccurrenceAt} none="never" />}
        href={lastJobId === undefined ? undefined : pageOf('jobs', lastJobId)}
      />
      <Tile label="Runs" value={count(fired)} note="jobs created" href={href('/jobs', { schedule: id })} />
      <Tile label="Skipped" value={count(skipped)} note="previous run still active" />
      <Tile
        label="Missed"
        value={count(missedCount)}
        hue={missedCount > 0 ? 'retry' : undefined}
        note="no scheduler was running"
      />
    </Tiles>
  )
}

/** The preview of an interval starts at its next occurrence. */
function Upcoming({ schedule }: { readonly schedule: ScheduleView }) {
  const { cron, every, timeZone, startAt, endAt, nextOccurrenceAt, state } = schedule
  const timing = {
    ...(cron === undefined ? { every, startAt: nextOccurrenceAt } : { cron, startAt }),
    timeZone,
    endAt,
    count: reachOf({ cron, timeZone }),
  }
  const occurrences = useQuery(`occurrences ${JSON.stringify(timing)} ${nextOccurrenceAt ?? ''}`, signal =>
    api.schedules.preview(timing, signal),
  )
  if (state === 'ended' || nextOccurrenceAt === undefined) {
    return (
      <Panel title="Upcoming runs">
        <p class="muted">None: the schedule has ended.</p>
      </Panel>
    )
  }
  return (
    <Panel title="Upcoming runs" note={timeZone} stale={occurrences.isStale}>
      <Answer query={occurrences} lines={10}>
        {({ data }) => <NextRuns occurrences={data} timeZone={timeZone} />}
      </Answer>
    </Panel>
  )
}

const TABS = [
  { id: 'jobs', text: 'Jobs' },
  { id: 'attempts', text: 'Attempts' },
] as const

const LISTED = 20

function Runs({ id }: { readonly id: string }) {
  const jobs = useQuery(`jobs of ${id}`, signal => api.jobs.list({ scheduleId: id, limit: STRIP_MAX }, signal), {
    topics: ['schedules', 'jobs'],
    everyMs: 10_000,
  })
  return (
    <Tabs label="Runs" tabs={TABS}>
      {open =>
        open === 'attempts' ? (
          <Attempts id={id} />
        ) : (
          <List
            query={jobs}
            title={<RunStrip label="Last runs" runs={stripOf(jobs.data?.data ?? [])} max={STRIP_MAX} />}
            actions={({ count: total }) => <Link to={href('/jobs', { schedule: id })} text={`All ${count(total)}`} />}
            label="Jobs of this schedule"
            columns={jobColumns().filter(({ title }) => title !== 'Queue')}
            pick={rows => rows.slice(0, LISTED)}
            href={job => pageOf('jobs', job.id)}
            empty={
              <Panel>
                <Empty icon="clock" title="No runs yet">
                  The jobs of this schedule are listed here with their outcomes.
                </Empty>
              </Panel>
            }
          />
        )
      }
    </Tabs>
  )
}

function Attempts({ id }: { readonly id: string }) {
  const runs = useQuery(`attempts of ${id}`, signal => api.schedules.history(id, { limit: 50 }, signal), {
    topics: ['schedules', 'jobs'],
    everyMs: 10_000,
  })
  return (
    <List
      query={runs}
      label="Attempts"
      columns={ATTEMPTS}
      rowKey={({ jobId, run }) => `${jobId} ${run}`}
      href={({ jobId, run }) => pageOf('jobs', jobId, { run: String(run) })}
      empty={
        <Panel flush>
          <Empty icon="clock" title="No finished runs yet" />
        </Panel>
      }
    />
  )
}

const ATTEMPTS: readonly Column<api.ScheduleRun>[] = [
  { title: 'Outcome', phone: 'head', render: ({ status }) => <StateMark state={status} /> },
  { title: 'Run', render: ({ label }) => <Tag>{label}</Tag> },
  { title: 'Started', render: ({ startedAt }) => <Time at={startedAt} /> },
  { title: 'Duration', align: 'end', render: ({ durationMs }) => duration(durationMs) },
  {
    title: 'Error',
    width: 'grow',
    render: ({ error, note }) => <span class="clip">{error?.message.split('\n')[0] ?? note ?? ''}</span>,
  },
]
