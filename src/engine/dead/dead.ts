import { type DeadBulkOptions, deadBulkOptions } from '../../core/job/bulk.js'
import { acknowledge, discard } from '../../core/job/changes.js'
import { type JobView, timeText } from '../../core/job/view.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, anyText, boolean, type Infer, integer, named, oneOf, read } from '../../core/values/schema.js'
import { listOf, object, view } from '../../core/values/shape.js'
import { time, timestamp } from '../../core/values/time.js'
import { type ErrorGroup, GROUP_STATES, groupId } from '../../store/fold.js'
import type { Changed, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { folded } from '../figures/counts.js'
import { actOnAll, type BulkResult } from '../jobs/bulk.js'
import type { Jobs } from '../jobs/jobs.js'
import { jobFilter, type List, PAGE_DEFAULT, type PageQuery, paging } from '../jobs/query.js'
import type { Records } from '../records/records.js'
import { type BreakdownQuery, type ErrorBreakdown, readBreakdown, readSeen } from './breakdown.js'
import { type ErrorOf, errorNotes, NotesOfErrors } from './error-notes.js'
import { GROUPS_MAX, groupRecords, groupsOf } from './group-records.js'
import type { DeadQuery, DryRun, RedriveOptions, Redrives, RedriveView } from './redrives.js'
import { type RolledUp, rollUp, rollUpAll } from './roll-up.js'

const dead = about(integer(-Number.MAX_SAFE_INTEGER), 'Current dead letters.')

/** The part of one tenant, or of the jobs without a tenant. */
const tenantShare = named(
  'ErrorGroupTenant',
  view(
    {
      failures: integer(),
      deaths: integer(),
      dead,
      firstSeen: timestamp,
      lastSeen: timestamp,
      state: oneOf(GROUP_STATES),
    },
    { tenantId: anyText },
  ),
)

/** A group of equal errors. */
export const errorGroupView = named(
  'ErrorGroup',
  view(
    {
      fingerprint: anyText,
      title: anyText,
      error: anyText,
      names: about(listOf(anyText), 'The names of the first ten jobs with this error.'),
      queues: listOf(anyText),
      failures: about(integer(), 'Failed runs.'),
      deaths: about(integer(), 'Jobs that died with this error.'),
      dead,
      firstSeen: timestamp,
      lastSeen: timestamp,
      trend: about(listOf(view({ at: timestamp, failures: integer() })), 'Failed runs by hour, oldest first.'),
      samples: about(listOf(anyText), 'Ids of some of the newest jobs.'),
      state: oneOf(GROUP_STATES),
    },
    {
      tenantId: about(anyText, 'The tenant that was asked for; otherwise the group is that of all tenants.'),
      tenants: about(
        listOf(tenantShare),
        'The same by tenant, most dead letters first. Absent if no job has a tenant.',
      ),
      code: anyText,
      status: integer(),
      ...errorNotes.optional,
      inRange: about(
        view({ failures: integer(), deaths: integer() }),
        'Failed runs and deaths in the time range that was asked for.',
      ),
    },
  ),
)
export type ErrorGroupView = Infer<typeof errorGroupView>

export type { BulkResult } from '../jobs/bulk.js'

export const groupQuery = object(
  {},
  {
    all: about(boolean, 'Include groups without a dead letter, and resolved and ignored groups. Default false.'),
    state: oneOf(GROUP_STATES),
    unresolved: about(boolean, 'Only open and regressed groups with dead letters. Default false.'),
    tenantId: about(freeText, 'Only the part of this tenant. Default: all tenants, with a breakdown.'),
    from: about(
      time,
      'Only groups with failed runs from this time on, most failed runs first, also without dead letters.',
    ),
    to: about(time, 'Only groups with failed runs before this time. Default: now.'),
    ...paging,
  },
)
export type GroupQuery = Infer<typeof groupQuery>

/** A page of groups, with the number of all that were asked for. */
export const errorGroupList = named(
  'ErrorGroupList',
  view({
    data: listOf(errorGroupView),
    page: view({ total: about(integer(), 'The number of groups on all pages.') }, { next: anyText }),
  }),
)
export type ErrorGroupList = Infer<typeof errorGroupList>

export const SETTABLE_STATES = ['open', 'resolved', 'ignored'] as const

/** `chronos.dead`: dead letters, their error groups, and redrives of them. */
export class Dead {
  readonly #env: Environment
  readonly #jobs: Jobs
  readonly #redrives: Redrives
  readonly #records: Records<ErrorGroup>
  readonly #notes: NotesOfErrors

  constructor(env: Environment, jobs: Jobs, redrives: Redrives) {
    this.#env = env
    this.#jobs = jobs
    this.#redrives = redrives
    this.#records = groupRecords(env)
    this.#notes = new NotesOfErrors(env)
  }

  /** Newest first. */
  list(query: DeadQuery = {}, page: PageQuery = {}): Promise<List<JobView>> {
    return this.#jobs.list({ ...query, state: 'dead' }, page)
  }

  /** Most dead letters first, then the newest. */
  async groups(query: GroupQuery = {}): Promise<ErrorGroupList> {
    const asked = read(groupQuery, query, 'dead.groups:')
    const { limit = PAGE_DEFAULT, cursor, all = false, state, unresolved = false, tenantId } = asked
    const found = await this.#groups(tenantId)
    const seen = await readSeen(this.#env, asked)
    const isShown = (group: RolledUp): boolean => {
      if (seen && !seen.has(group.fingerprint)) return false
      if (unresolved && (isSettled(group) || group.dead === 0)) return false
      if (state !== undefined) return group.state === state
      return all || (group.state !== 'ignored' && (seen !== undefined || group.dead > 0))
    }
    const groups: RolledUp[] = (tenantId === undefined ? rollUpAll(found) : found).filter(isShown)
    const failures = ({ fingerprint }: RolledUp): number => seen?.get(fingerprint)?.failures ?? 0
    groups.sort(
      (a, b) =>
        failures(b) - failures(a) ||
        b.dead - a.dead ||
        b.lastSeen - a.lastSeen ||
        (a.fingerprint < b.fingerprint ? -1 : 1),
    )
    const from = cursor === undefined ? 0 : groups.findIndex(group => idOf(group) === cursor) + 1
    const page = groups.slice(from, from + limit)
    const isLast = from + limit >= groups.length
    const notes = await this.#notes.views(page)
    const data = page.map(group => ({
      ...viewGroup(group),
      ...notes.get(idOf(group)),
      ...present({ inRange: seen?.get(group.fingerprint) }),
    }))
    return { data, page: { total: groups.length, ...(!isLast && { next: idOf(page.at(-1)!) }) } }
  }

  async group(fingerprint: string, tenantId?: string): Promise<ErrorGroupView> {
    read(freeText, fingerprint, 'dead: fingerprint')
    const group = viewGroup(this.#whole(await this.#same(fingerprint, tenantId), tenantId))
    return { ...group, ...(await this.#notes.view({ fingerprint, tenantId })) }
  }

  /** The failed runs of an error in a time range, by tenant, queue, job name, worker and build. */
  breakdown(fingerprint: string, query: BreakdownQuery = {}): Promise<ErrorBreakdown> {
    read(freeText, fingerprint, 'dead: fingerprint')
    return readBreakdown(this.#env, fingerprint, query)
  }

  /** Names who looks after an error; null removes the name. */
  assign(fingerprint: string, assignee: string | null, tenantId?: string): Promise<ErrorGroupView> {
    return this.#noted({ fingerprint, tenantId }, error => this.#notes.assign(error, assignee))
  }

  /** Adds a note to an error; `by` names its author. */
  addNote(fingerprint: string, text: string, tenantId?: string, by?: string): Promise<ErrorGroupView> {
    return this.#noted({ fingerprint, tenantId }, error => this.#notes.add(error, text, by))
  }

  removeNote(fingerprint: string, id: string, tenantId?: string): Promise<ErrorGroupView> {
    return this.#noted({ fingerprint, tenantId }, error => this.#notes.remove(error, id))
  }

  async #noted(error: ErrorOf, change: (error: ErrorOf) => Promise<unknown>): Promise<ErrorGroupView> {
    read(freeText, error.fingerprint, 'dead: fingerprint')
    await this.#same(error.fingerprint, error.tenantId)
    await change(error)
    return this.group(error.fingerprint, error.tenantId)
  }

  /** `resolved`: fixed; the group becomes `regressed` when its error occurs again. `ignored`: known and harmless. */
  async setGroup(
    fingerprint: string,
    state: (typeof SETTABLE_STATES)[number],
    tenantId?: string,
  ): Promise<ErrorGroupView> {
    read(oneOf(SETTABLE_STATES), state, 'dead.setGroup: state')
    read(freeText, fingerprint, 'dead: fingerprint')
    const changed: ErrorGroup[] = []
    for (const same of await this.#same(fingerprint, tenantId)) {
      const { body } = await this.#records.change(idOf(same), async (group, store) => {
        if (!group) throw noGroup(fingerprint)
        const { now } = await store.info()
        return { ...group, state, stateAt: now, isForAll: tenantId === undefined }
      })
      changed.push(body)
    }
    const notes = await this.#notes.view({ fingerprint, tenantId })
    return { ...viewGroup(this.#whole(changed, tenantId)), ...notes }
  }

  #whole(groups: readonly ErrorGroup[], tenantId: string | undefined): RolledUp {
    return tenantId === undefined ? rollUp(groups) : groups[0]!
  }

  /** The stored groups of an error: that of one tenant, or those of all. */
  async #same(fingerprint: string, tenantId: string | undefined): Promise<readonly ErrorGroup[]> {
    await this.#fold()
    const same = await groupsOf(this.#records, fingerprint, tenantId)
    if (same.length === 0) throw noGroup(fingerprint)
    return same
  }

  redrive(query: DeadQuery, options: RedriveOptions & { readonly dryRun: true }): Promise<DryRun>
  redrive(query: DeadQuery, options?: RedriveOptions): Promise<RedriveView>
  redrive(query: DeadQuery, options?: RedriveOptions): Promise<RedriveView | DryRun> {
    return this.#redrives.start(query, options)
  }

  /** Marks dead letters as seen: they stay and no longer raise alerts. */
  acknowledge(query: DeadQuery, options: DeadBulkOptions = {}): Promise<BulkResult> {
    const unseen = { acknowledged: false, ...query }
    return this.#each('dead.acknowledge', unseen, options, (store, ids) => store.change(ids, acknowledge))
  }

  /** Gives jobs up: they stay dead, with reason `discarded`. */
  discard(query: DeadQuery, options: DeadBulkOptions = {}): Promise<BulkResult> {
    const { outbox } = this.#env
    return this.#each('dead.discard', query, options, async (store, ids) => {
      await outbox.fresh()
      const changed = await store.change(ids, discard, job => outbox.following(job))
      outbox.wake()
      return changed
    })
  }

  async #each(
    action: string,
    query: DeadQuery,
    given: DeadBulkOptions,
    act: (store: Store, ids: readonly string[]) => Promise<readonly Changed[]>,
  ): Promise<BulkResult> {
    const options = read(deadBulkOptions, given, `${action}:`)
    const store = await this.#env.connection.store()
    const filter = { ...jobFilter(query, 'dead'), state: 'dead' } as const
    // Discarded jobs are included only on request.
    const skipped = query.reason === 'discarded' ? [] : ['discarded']
    return actOnAll({ action, store, filter, options, act: ids => act(store, ids), skipped })
  }

  async #groups(tenantId: string | undefined): Promise<ErrorGroup[]> {
    await this.#fold()
    const mine = (group: ErrorGroup): boolean => tenantId === undefined || group.tenantId === tenantId
    return (await this.#records.page({ limit: GROUPS_MAX }, mine)).map(({ body }) => body)
  }

  async #fold(): Promise<void> {
    await folded(await this.#env.connection.store())
  }
}

const isSettled = ({ state }: RolledUp): boolean => state === 'resolved' || state === 'ignored'

const idOf = ({ fingerprint, tenantId }: ErrorGroup): string => groupId(fingerprint, tenantId)

export function noGroup(fingerprint: string): ChronosError {
  const words = `there is no error group ${shown(fingerprint)}; dead.groups() lists them all`
  return new ChronosError('NOT_FOUND', words, { details: { fingerprint } })
}

function viewGroup({
  firstSeen,
  lastSeen,
  trend,
  stateAt: _,
  isForAll: __,
  tenants,
  ...group
}: RolledUp): ErrorGroupView {
  const hours = Object.entries(trend).sort(([a], [b]) => Number(a) - Number(b))
  return {
    ...group,
    ...present({ tenants: tenants?.map(viewShare) }),
    firstSeen: timeText(firstSeen),
    lastSeen: timeText(lastSeen),
    trend: hours.map(([at, failures]) => ({ at: timeText(Number(at)), failures })),
  }
}

function viewShare({
  tenantId,
  failures,
  deaths,
  dead,
  firstSeen,
  lastSeen,
  state,
}: ErrorGroup): Infer<typeof tenantShare> {
  const seen = { firstSeen: timeText(firstSeen), lastSeen: timeText(lastSeen) }
  return { ...present({ tenantId }), failures, deaths, dead, ...seen, state }
}
