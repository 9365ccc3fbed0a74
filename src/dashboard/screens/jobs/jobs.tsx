import { useSignal } from '@preact/signals'
import { PHASES } from '../../../core/job/job.js'
import type { JobView } from '../../../core/job/view.js'
import * as api from '../../data/api.js'
import { serverNow } from '../../data/clock.js'
import { flagsOf } from '../../data/command.js'
import { asCurl, copyText } from '../../data/copy.js'
import { apiFilter, jobTokens } from '../../data/filter.js'
import { count, plural } from '../../data/format.js'
import { type QueryState, useQuery } from '../../data/query.js'
import { apiRange, range } from '../../data/range.js'
import { isTenant, may } from '../../data/session.js'
import { Answer } from '../../parts/empty.js'
import { chosenIn, UrlChoice } from '../../parts/form/field.js'
import { Icon } from '../../parts/icon.js'
import { Menu } from '../../parts/layer/menu.js'
import { FilterBar } from '../../parts/list/filter-bar.js'
import { usePage } from '../../parts/list/list.js'
import { Pager } from '../../parts/list/pager.js'
import { SavedViews } from '../../parts/list/saved-views.js'
import { StateLinks } from '../../parts/list/state-links.js'
import { Table } from '../../parts/list/table.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { lookOf } from '../../parts/state.js'
import { pageOf, query } from '../../shell/router.js'
import { useSteadyRows } from '../steady-rows.js'
import { JobsBulk } from './jobs-bulk.js'
import { jobColumns } from './jobs-columns.js'
import { NoJobs } from './jobs-none.js'
import './jobs.css'

const LIMIT = 50

/** The times of a job that the time range can be about. */
const TIMES = [
  { value: 'created', text: 'Created' },
  { value: 'started', text: 'Started' },
  { value: 'finished', text: 'Ended' },
  { value: 'failed', text: 'Failed' },
] as const

/** The list of jobs with the filter of the URL. */
export default function Jobs() {
  const queues = useQuery('queue-names', queueNames)
  const tokens = jobTokens({ queues: queues.data ?? [] })
  const filter = { ...apiFilter(query.value, tokens), ...apiRange(range.value, chosenIn('by', TIMES).value) }
  const jobs = usePage(
    `jobs ${JSON.stringify(filter)}`,
    (page, signal) => api.jobs.list({ ...filter, ...page }, signal),
    { limit: LIMIT, topics: ['jobs'], everyMs: 15_000 },
  )
  return (
    <>
      <PageHead
        title="Jobs"
        actions={
          <>
            <SavedViews screen="jobs" />
            <HeadActions filter={filter} />
          </>
        }
      />
      <FilterBar tokens={tokens} label="Filter jobs" placeholder="state:dead queue:mail card declined" />
      <div class="row wrap apart">
        <StateLinks label="States" states={STATES} />
        {range.value && <UrlChoice label="Time of" name="by" options={TIMES} />}
      </div>
      <Answer query={jobs} lines={12}>
        {data => <JobList key={JSON.stringify(filter)} data={data} jobs={jobs} filter={filter} />}
      </Answer>
    </>
  )
}

const KNOWN_FOR_MS = 60_000
let known: { readonly names: readonly string[]; readonly until: number } | undefined

/** Names for suggestions, which may be a minute old: the server counts the jobs of each queue for them. */
async function queueNames(signal: AbortSignal): Promise<readonly string[]> {
  // A tenant token may not list queues.
  if (isTenant.peek()) return []
  if (known && serverNow() < known.until) return known.names
  const { data } = await api.queues.busiest(signal)
  known = { names: data.map(({ name }) => name), until: serverNow() + KNOWN_FOR_MS }
  return known.names
}

type Counted = api.Counted<JobView> & {
  readonly searched?: { readonly newest: number; readonly complete: boolean }
}

interface JobListProps {
  readonly data: Counted
  readonly jobs: QueryState<Counted>
  readonly filter: Readonly<Record<string, string>>
}

function JobList({ data, jobs, filter }: JobListProps) {
  const selected = useSignal<ReadonlySet<string>>(new Set())
  const isFirst = query.value['cursor'] === undefined
  const { rows, fresh, showFresh } = useSteadyRows(data.data, isFirst, jobs.isStale)
  if (rows.length === 0) return <NoJobs filter={filter} searched={data.searched} next={data.page.next} />
  return (
    <>
      {data.searched && <Searched {...data.searched} />}
      <Panel flush>
        {fresh > 0 && (
          <div class="jobs-fresh">
            <button type="button" class="pill" onClick={showFresh}>
              <Icon name="up" size={12} />
              {plural(fresh, 'new job')}
            </button>
          </div>
        )}
        <Table
          label="Jobs"
          columns={jobColumns()}
          rows={rows}
          href={({ id }) => pageOf('jobs', id)}
          selected={may('operator') ? selected : undefined}
          stale={jobs.isStale}
        />
      </Panel>
      <Pager next={data.page.next}>
        {count(rows.length)} of {count(data.count)} {data.count.value === 1 ? 'job' : 'jobs'}
      </Pager>
      <JobsBulk selected={selected} total={data.count} filter={filter} rows={rows} after={jobs.refetch} />
    </>
  )
}

function Searched({ newest, complete }: { readonly newest: number; readonly complete: boolean }) {
  if (complete) return null
  return (
    <p class="notice wait">
      <Icon name="search" size={14} /> Looked through the newest {count(newest)} jobs. The next page searches older
      ones.
    </p>
  )
}

const STATES = [['All', undefined] as const, ...PHASES.map(phase => [lookOf(phase).word, phase] as const)]

function HeadActions({ filter }: { readonly filter: Readonly<Record<string, string>> }) {
  return (
    <Menu
      label="Copy list as"
      icon="copy"
      items={[
        {
          text: 'Copy as curl',
          icon: 'copy',
          onPress: () => void copyText(asCurl('GET', `/jobs?${new URLSearchParams(filter)}`), 'Copied as curl'),
        },
        {
          text: 'Copy as command',
          icon: 'copy',
          onPress: () => void copyText(['chronos jobs list', ...flagsOf(filter)].join(' '), 'Copied as command'),
        },
        {
          text: 'Copy link',
          icon: 'copy',
          onPress: () => void copyText(window.location.href, 'Link copied'),
        },
      ]}
    />
  )
}
