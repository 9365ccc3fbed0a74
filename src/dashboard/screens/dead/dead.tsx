import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { present } from '../../../core/values/present.js'
import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import { TrendSpark } from '../../charts/trend-spark.js'
import * as api from '../../data/api.js'
import { apiFilter, jobTokens } from '../../data/filter.js'
import { count, percent, plural } from '../../data/format.js'
import { apiRange, range, rangeParameters } from '../../data/range.js'
import { may } from '../../data/session.js'
import { Badge } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { Answer, Empty } from '../../parts/empty.js'
import { chosenIn, UrlChoice } from '../../parts/form/field.js'
import { RowActions } from '../../parts/layer/actions.js'
import { Link } from '../../parts/link.js'
import { FilterBar } from '../../parts/list/filter-bar.js'
import { List, usePage } from '../../parts/list/list.js'
import { Pager } from '../../parts/list/pager.js'
import { SavedViews } from '../../parts/list/saved-views.js'
import { PageHead } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Time } from '../../parts/time.js'
import { useKeys } from '../../shell/keys.js'
import { href, pageOf, query } from '../../shell/router.js'
import { jobColumns } from '../jobs/jobs-columns.js'
import { acknowledgeAll, type DeadChoice, discardAll, setGroupState } from './dead-actions.js'
import { RedriveDialog } from './redrive-dialog.js'
import './dead.css'

const VIEWS = [
  { value: 'groups', text: 'Error groups' },
  { value: 'jobs', text: 'Jobs' },
] as const

/** Dead letters by error group, or as single jobs. */
export default function Dead() {
  return (
    <>
      <PageHead
        title="Dead letters"
        sub="Jobs that failed for good. They stay until they are redriven or discarded."
        actions={
          <>
            <SavedViews screen="dead" />
            <UrlChoice label="View" name="view" options={VIEWS} />
          </>
        }
      />
      {chosenIn('view', VIEWS).value === 'groups' ? <Groups /> : <DeadJobs />}
    </>
  )
}

const STATES = [
  { value: '', text: 'With dead letters' },
  { value: 'ignored', text: 'Ignored' },
  { value: 'resolved', text: 'Resolved' },
  { value: 'all', text: 'All' },
] as const

function Groups() {
  const state = chosenIn('group', STATES).value
  const filter = state === 'all' ? { all: 'true' } : state === '' ? {} : { state }
  const asked = { ...filter, ...apiRange(range.value) }
  const groups = usePage(
    `groups ${JSON.stringify(asked)}`,
    (page, signal) => api.dead.groups({ ...asked, ...page }, signal),
    { topics: ['dead', 'redrives'], everyMs: 10_000 },
  )
  const redriving = useSignal<ErrorGroupView | undefined>(undefined)
  const list = useRef<HTMLUListElement>(null)
  useGroupKeys(list)
  return (
    <>
      <div class="row wrap dead-states">
        <UrlChoice label="Groups" name="group" options={STATES} />
      </div>
      <Answer query={groups} lines={8}>
        {({ data, page }) =>
          data.length === 0 ? (
            <NothingDead state={state} />
          ) : (
            <>
              <ul class="dead-groups" ref={list}>
                {data.map(group => (
                  <Group
                    key={group.fingerprint + (group.tenantId ?? '')}
                    group={group}
                    most={Math.max(...data.map(({ dead }) => dead))}
                    onRedrive={() => (redriving.value = group)}
                    after={groups.refetch}
                  />
                ))}
              </ul>
              <Pager next={page.next}>{plural(data.length, 'group')}</Pager>
            </>
          )
        }
      </Answer>
      {redriving.value && (
        <RedriveDialog choice={choiceOf(redriving.value)} onClose={() => (redriving.value = undefined)} />
      )}
    </>
  )
}

/** The keys of tables: the focus moves from title to title, and Enter opens the group. */
function useGroupKeys(list: { readonly current: HTMLElement | null }): void {
  const move = (by: number): void => {
    const titles = [...(list.current?.querySelectorAll<HTMLElement>('.dead-group-title') ?? [])]
    const at = titles.indexOf(document.activeElement as HTMLElement)
    titles[Math.min(titles.length - 1, Math.max(0, at + by))]?.focus()
  }
  useKeys([
    { keys: 'j', does: 'Next group', group: 'Lists', run: () => move(1) },
    { keys: 'k', does: 'Previous group', group: 'Lists', run: () => move(-1) },
  ])
}

export function choiceOf({ fingerprint, tenantId, title }: ErrorGroupView): DeadChoice {
  return { filter: present({ fingerprint, tenantId }), words: title }
}

function NothingDead({ state }: { readonly state: string }) {
  if (state !== '') return <Empty icon="check" title="No matching groups" />
  if (range.value) return <Empty icon="check" title="No errors in this time range" good />
  return (
    <Empty icon="check" title="No dead letters" good actions={<Button text="Show redrives" href={href('/redrives')} />}>
      Every failed job was retried, redriven or acknowledged.
    </Empty>
  )
}

export const NOTHING_TO_REDRIVE = 'The group has no dead letters now'

interface GroupProps {
  readonly group: ErrorGroupView
  /** The number of dead letters of the largest group. */
  readonly most: number
  readonly onRedrive: () => void
  readonly after: () => void
}

function Group({ group, most, onRedrive, after }: GroupProps) {
  const { title, error, code, status, names, queues, dead, failures, firstSeen, lastSeen, trend } = group
  return (
    <li class="dead-group">
      <div class="dead-group-main">
        <Link to={groupHref(group)} look="dead-group-title" text={title} />
        <div class="row wrap tight">
          <StateMark state={group.state} as="badge" />
          <Badge hue="off">{[error, code, status].filter(part => part !== undefined).join(' · ')}</Badge>
          <span class="muted clip">
            {names.join(', ')} in {queues.join(', ')}
          </span>
        </div>
        <div class="row wrap tight muted dead-group-times">
          <span>
            last <Time at={lastSeen} />
          </span>
          <span>
            first <Time at={firstSeen} />
          </span>
          <span>{plural(failures, 'failed run')}</span>
          {group.inRange && (
            <span class="strong">{plural(group.inRange.failures, 'failed run')} in the time range</span>
          )}
          {group.assignee !== undefined && <span>assigned to {group.assignee}</span>}
          {group.tenants && <span>{plural(group.tenants.length, 'tenant')}</span>}
        </div>
      </div>
      <div class="dead-group-trend">
        <TrendSpark trend={trend} hours={24} />
        <span class="muted">24h</span>
      </div>
      <div class="dead-group-count" data-tip={`${percent(most === 0 ? 0 : dead / most)} of the largest group`}>
        <span class={`strong ${dead > 0 ? 'dead' : 'muted'}`}>{count(dead)}</span>
        <progress
          class="dead-group-share"
          value={dead}
          max={Math.max(1, most)}
          aria-label="Share of the largest group"
        />
      </div>
      {may('operator') && (
        <div class="dead-group-actions">
          <Button
            text="Redrive"
            size="sm"
            tone="primary"
            icon="redrive"
            disabled={dead === 0 && NOTHING_TO_REDRIVE}
            onPress={onRedrive}
          />
          <GroupMenu group={group} after={after} />
        </div>
      )}
    </li>
  )
}

export function groupHref({ fingerprint, tenantId }: ErrorGroupView): string {
  return pageOf('dead', fingerprint, { tenant: tenantId, ...rangeParameters() })
}

/** The actions for a group besides a redrive. */
export function GroupMenu({ group, after }: { readonly group: ErrorGroupView; readonly after: () => void }) {
  const choice = choiceOf(group)
  const isOpen = group.state === 'open' || group.state === 'regressed'
  return (
    <RowActions
      label={`Actions for ${group.title}`}
      actions={[
        {
          text: 'Show jobs',
          icon: 'jobs',
          href: href('/dead', { view: 'jobs', fingerprint: group.fingerprint, tenant: group.tenantId }),
        },
        {
          text: 'Acknowledge',
          icon: 'check',
          hint: 'Keeps them and stops the alert',
          onPress: () => void acknowledgeAll(choice, after),
        },
        isOpen && {
          text: 'Resolve',
          icon: 'check',
          hint: 'Fixed; reopens if the error occurs again',
          onPress: () => void setGroupState(group, 'resolved', after),
        },
        isOpen && {
          text: 'Ignore',
          icon: 'pause',
          hint: 'Hides the group',
          onPress: () => void setGroupState(group, 'ignored', after),
        },
        !isOpen && { text: 'Reopen', icon: 'retry', onPress: () => void setGroupState(group, 'open', after) },
        {
          text: 'Discard …',
          icon: 'trash',
          tone: 'danger',
          hint: 'No redrive any more; the records stay',
          onPress: () => void discardAll(choice, after),
        },
      ]}
    />
  )
}

function DeadJobs() {
  const tokens = jobTokens().filter(({ name }) => name !== 'state' && name !== 'worker')
  const filter = { ...apiFilter(query.value, tokens), ...apiRange(range.value, 'finished') }
  const jobs = usePage(
    `dead ${JSON.stringify(filter)}`,
    (page, signal) => api.dead.list({ ...filter, ...page }, signal),
    { topics: ['dead'], everyMs: 10_000 },
  )
  const total = jobs.data?.count
  const isRedriving = useSignal(false)
  const words = Object.entries(filter).map(([name, value]) => `${name}:${value}`)
  return (
    <>
      <FilterBar tokens={tokens} label="Filter dead letters" placeholder="queue:payments reason:exhausted timeout" />
      <List
        query={jobs}
        label="Dead letters"
        columns={jobColumns()}
        href={({ id }) => pageOf('jobs', id)}
        size={({ data, count: all }) => `${count(data.length)} of ${count(all)}`}
        lines={10}
        empty={<Empty icon="check" title={words.length === 0 ? 'No dead letters' : 'No matching dead letters'} good />}
      />
      {/* A redrive can't choose by an earlier redrive, because it would change what it chooses from. */}
      {may('operator') && total !== undefined && total.value > 0 && filter['redriveId'] === undefined && (
        <Button
          text={`Redrive all ${count(total)} that match`}
          icon="redrive"
          onPress={() => (isRedriving.value = true)}
        />
      )}
      {isRedriving.value && (
        <RedriveDialog
          choice={{ filter, words: words.join(' ') || 'all dead letters' }}
          onClose={() => (isRedriving.value = false)}
        />
      )}
    </>
  )
}
