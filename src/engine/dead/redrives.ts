import { checkAtMost } from '../../core/job/bulk.js'
import { DEATH_REASONS } from '../../core/job/job.js'
import { timeText } from '../../core/job/view.js'
import {
  canaryOf,
  type DryRun,
  failingOf,
  isActive,
  isLeftAlone,
  REDRIVE_STATES,
  type Redrive,
  type RedriveFilter,
  type RedriveOptions,
  type RedriveView,
  type Results,
  redriveOptions,
  startedOf,
} from '../../core/redrive/redrive.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { formatRate, perSecondOf, type Rate, rate } from '../../core/values/rate.js'
import { type Infer, oneOf, read } from '../../core/values/schema.js'
import { list, object, union } from '../../core/values/shape.js'
import type { Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { countAll } from '../jobs/bulk.js'
import { type DeadQuery, jobFilter, type List, listOf, PAGE_DEFAULT, tenantQuery } from '../jobs/query.js'
import type { Records } from '../records/records.js'
import { groupRecords, groupsOf } from './group-records.js'
import { filterOf, redriveRecords } from './redriver.js'

export type { DryRun, RedriveOptions, RedriveView } from '../../core/redrive/redrive.js'
export type { DeadQuery } from '../jobs/query.js'

const state = oneOf(REDRIVE_STATES)

export const redriveQuery = object(
  {},
  { state: union(state, list(state, { max: REDRIVE_STATES.length, of: 'states' })), ...tenantQuery.optional },
)
export type RedriveQuery = Infer<typeof redriveQuery>

/** `chronos.redrives`: redrives of dead jobs. */
export class Redrives {
  readonly #env: Environment
  readonly #onStarted: () => void
  readonly #records: Records<Redrive>

  /** `onStarted` is called when a redrive was started or changed, so that the redriver reads it at once. */
  constructor(env: Environment, onStarted: () => void) {
    this.#env = env
    this.#records = redriveRecords(env)
    this.#onStarted = onStarted
  }

  async start(query: DeadQuery, options: RedriveOptions & { readonly dryRun: true }): Promise<DryRun>
  async start(query: DeadQuery, options?: RedriveOptions): Promise<RedriveView>
  async start(query: DeadQuery, options: RedriveOptions = {}): Promise<RedriveView | DryRun> {
    const given = read(redriveOptions, options, 'redrive:')
    const { stopWhenFailing = 0.2, force = false } = given
    const perSecond = perSecondOf(given.rate ?? 10)
    const store = await this.#env.connection.store()
    const filter = jobFilter(query, 'redrive') as RedriveFilter
    await this.#checkGroup(store, filter)
    const { now } = await store.info()
    const counted = await countDead(store, { filter, force, createdAt: now })
    if (given.dryRun) return { dryRun: true, ...counted }
    checkAtMost('redrive', counted.count.value, given.atMost)
    const { canary = canaryOf(counted.count.value) } = given
    const redrive: Redrive = {
      id: this.#env.dice.id(now),
      filter,
      perSecond,
      canary,
      stopWhenFailing,
      force,
      state: canary > 0 ? 'canary' : 'running',
      total: counted.count,
      createdAt: now,
      isListed: false,
      ...present({ tenantId: filter.tenantId }),
      ...(canary === 0 && { pace: { from: now, started: 0, isSteep: false } }),
      skipped: 0,
      conflicts: [],
      conflictCount: 0,
    }
    await this.#records.write(redrive.id, redrive, 0)
    const { id: redriveId } = redrive
    this.#env.log.info({ event: 'redrive.started', redriveId, filter, total: counted.count.value }, 'redrive started')
    this.#onStarted()
    return this.#view(store, redrive)
  }

  async get(id: string): Promise<RedriveView> {
    const redrive = await this.#records.find(id)
    if (!redrive) throw noRedrive(id)
    return this.#view(await this.#env.connection.store(), redrive.body)
  }

  /** Newest first. */
  async list(query: RedriveQuery = {}): Promise<List<RedriveView>> {
    const { limit = PAGE_DEFAULT, cursor, tenantId, state } = read(redriveQuery, query, 'redrives.list:')
    const states = state && new Set([state].flat())
    const store = await this.#env.connection.store()
    const order = { order: 'down', ...present({ to: cursor }) } as const
    const isWanted = (redrive: Redrive): boolean =>
      (tenantId === undefined || redrive.tenantId === tenantId) && (!states || states.has(redrive.state))
    const found = await this.#records.page({ limit: limit + 1, ...order }, isWanted)
    const data = await Promise.all(found.slice(0, limit).map(({ body }) => this.#view(store, body)))
    return listOf(data, found.length > limit ? found[limit - 1]!.id : undefined)
  }

  /** Starts no further jobs; those that have started continue. */
  pause(id: string): Promise<RedriveView> {
    return this.#change(id, 'pause', redrive => (isActive(redrive) ? { ...redrive, state: 'paused' } : undefined))
  }

  /** Continues a redrive. One that its stop rule stopped continues without a canary and with its failures reset. */
  resume(id: string): Promise<RedriveView> {
    return this.#change(id, 'resume', (redrive, results, now) => {
      if (redrive.state !== 'paused' && redrive.state !== 'stopped') return undefined
      const { why, finishedAt, ...rest } = redrive
      const isCanary = redrive.state === 'paused' && redrive.pace === undefined
      const pace = { from: now, started: startedOf(results), isSteep: false }
      const forgiven = { failing: failingOf(results), succeeded: results.succeeded }
      if (isCanary) return { ...rest, state: 'canary' }
      return { ...rest, state: 'running', pace, ...(redrive.state === 'stopped' && { forgiven }) }
    })
  }

  /** Ends a redrive for good, also one that its stop rule stopped. */
  abort(id: string): Promise<RedriveView> {
    return this.#change(id, 'abort', (redrive, _results, now) => {
      const { state, finishedAt = now } = redrive
      if (!isActive(redrive) && state !== 'paused' && state !== 'stopped') return undefined
      return { ...redrive, state: 'aborted', finishedAt }
    })
  }

  setRate(id: string, asked: Rate): Promise<RedriveView> {
    const perSecond = perSecondOf(read(rate, asked, 'redrive: rate'))
    return this.#change(id, 'change the rate of', (redrive, results, now) => {
      if (!isActive(redrive) && redrive.state !== 'paused') return undefined
      const pace = redrive.pace && { from: now, started: startedOf(results), isSteep: true }
      return { ...redrive, perSecond, ...present({ pace }) }
    })
  }

  async #change(
    id: string,
    action: string,
    change: (redrive: Redrive, results: Results, now: number) => Redrive | undefined,
  ): Promise<RedriveView> {
    const { body } = await this.#records.change(id, async (redrive, store) => {
      if (!redrive) throw noRedrive(id)
      const { now } = await store.info()
      const next = change(redrive, await store.tally(id), now)
      if (next) return next
      throw new ChronosError('NOT_ALLOWED', `can't ${action} redrive ${id}: it is ${redrive.state}`, {
        details: { redriveId: id, state: redrive.state },
      })
    })
    this.#onStarted()
    return this.#view(await this.#env.connection.store(), body)
  }

  /** A misspelt fingerprint would redrive nothing and look like success. */
  async #checkGroup(store: Store, { fingerprint, tenantId }: RedriveFilter): Promise<void> {
    if (fingerprint === undefined) return
    const { value } = await store.count({ state: 'dead', fingerprint, ...present({ tenantId }) }, 1)
    if (value > 0 || (await groupsOf(groupRecords(this.#env), fingerprint, tenantId)).length > 0) return
    throw new ChronosError('NOT_FOUND', `there is no error group ${shown(fingerprint)}; dead.groups() lists them all`)
  }

  async #view(store: Store, redrive: Redrive): Promise<RedriveView> {
    const results = await store.tally(redrive.id)
    const { id, state, why, filter, canary, stopWhenFailing, total, skipped, conflicts, conflictCount } = redrive
    return present({
      id,
      state,
      ...present({ why, tenantId: redrive.tenantId }),
      filter,
      rate: formatRate(redrive.perSecond),
      canary,
      stopWhenFailing,
      total,
      started: startedOf(results),
      succeeded: results.succeeded,
      failing: failingOf(results),
      results,
      skipped,
      conflicts,
      conflictCount,
      createdAt: timeText(redrive.createdAt),
      finishedAt: timeText(redrive.finishedAt),
    })
  }
}

async function countDead(
  store: Store,
  redrive: Pick<Redrive, 'filter' | 'force' | 'createdAt'>,
): Promise<Omit<DryRun, 'dryRun'>> {
  const left = DEATH_REASONS.filter(reason => isLeftAlone(redrive, reason))
  const { matched, skipped } = await countAll(store, filterOf(redrive), left)
  return { count: { value: matched, relation: 'exact' }, skipped }
}

function noRedrive(id: string): ChronosError {
  return new ChronosError('NOT_FOUND', `there is no redrive ${shown(id)}`, { details: { redriveId: id } })
}
