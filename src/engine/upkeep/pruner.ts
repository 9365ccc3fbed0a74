import { DAY_MS } from '../../core/values/duration.js'
import { present } from '../../core/values/present.js'
import type { JobFilter, PruneRequest, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { bodyOf } from '../records/records.js'
import {
  ENDED_STATES,
  type EndedState,
  type Limits,
  limitFor,
  prunesAnything,
  type RetentionPlan,
} from './retention.js'

const ROWS_PER_STEP = 500
const EVERY_MS = 60_000
/** A page of jobs that have longer limits of their own is skipped; this many are read in a step. */
const PAGES_MAX = 20
/** A key outlives its pruned job by this time, so that a late repeat of an enqueue still finds it. */
const KEY_MS = DAY_MS

type Pruned = Record<EndedState, number>

/** Removes ended jobs beyond their retention, some hundred at a time. */
export class Pruner {
  readonly #env: Environment
  readonly #plan: () => RetentionPlan
  #recorded: boolean | undefined

  /** The plan changes with the definitions of this process's workers. */
  constructor(env: Environment, plan: () => RetentionPlan) {
    this.#env = env
    this.#plan = plan
  }

  async step(): Promise<number> {
    const store = await this.#env.connection.store()
    const plan = this.#plan()
    await this.#record(store, prunesAnything(plan))
    const { pruned, keys } = await this.#prune(store, plan)
    const rows = pruned.succeeded + pruned.cancelled + pruned.dead
    if (rows > 0) this.#env.log.info({ event: 'jobs.pruned', ...pruned, keys }, 'pruned finished jobs')
    return rows >= ROWS_PER_STEP ? 0 : EVERY_MS
  }

  async #prune(store: Store, plan: RetentionPlan): Promise<{ readonly pruned: Pruned; readonly keys: number }> {
    const { now } = await store.info()
    const special = specialStates(plan)
    const olderThanMs = present(
      Object.fromEntries(ENDED_STATES.map(state => [state, special.has(state) ? undefined : plan.all[state]?.ageMs])),
    ) as PruneRequest['olderThanMs']
    const { pruned, keys } = await store.prune({ olderThanMs, keyMs: KEY_MS, limit: ROWS_PER_STEP })
    const sums: Pruned = { ...pruned }
    for (const state of special) sums[state] += await pruneByAge(store, plan, state, now)
    for (const { filter, count } of counted(plan)) sums[filter.state] += await pruneByCount(store, plan, filter, count)
    return { pruned: sums, keys }
  }

  /** For `doctor` and the alert, which don't know the options of this process. */
  async #record(store: Store, isPruning: boolean): Promise<void> {
    if (this.#recorded === isPruning) return
    this.#recorded = isPruning
    await store.putRecords([{ kind: RETENTION, id: RETENTION, body: JSON.stringify({ isPruning }) }])
  }
}

const RETENTION = 'retention'

/** Whether the process that wrote this last removes any jobs; undefined if no process has said. */
export async function isPruning(store: Store): Promise<boolean | undefined> {
  const [found] = (await store.records(RETENTION, { ids: [RETENTION] })).flatMap(bodyOf<{ isPruning: boolean }>)
  return found?.isPruning
}

/** The states for which a queue or a job has a limit of its own. */
function specialStates({ queues, jobs }: RetentionPlan): ReadonlySet<EndedState> {
  const own = [...queues.values(), ...jobs.values()]
  return new Set(ENDED_STATES.filter(state => own.some(limits => limits[state] !== undefined)))
}

async function pruneByAge(store: Store, plan: RetentionPlan, state: EndedState, now: number): Promise<number> {
  const ages = [plan.all, ...plan.queues.values(), ...plan.jobs.values()].flatMap(limits => limits[state]?.ageMs ?? [])
  if (ages.length === 0) return 0
  const filter = { state, finishedBefore: now - Math.min(...ages) }
  let removed = 0
  let cursor: string | undefined
  for (let pages = 0; pages < PAGES_MAX && removed < ROWS_PER_STEP; pages++) {
    const page = await store.list(filter, { limit: ROWS_PER_STEP, order: 'oldest', ...present({ cursor }) })
    const old = page.data.filter(({ queue, name, finishedAt = now }) => {
      const { ageMs } = limitFor(plan, state, queue, name)
      return ageMs !== undefined && finishedAt <= now - ageMs
    })
    removed += await removeAll(store, old)
    cursor = page.next
    if (cursor === undefined) break
  }
  return removed
}

interface Counted {
  readonly filter: Omit<JobFilter, 'state'> & { readonly state: EndedState }
  readonly count: number
}

function counted({ all, queues, jobs }: RetentionPlan): readonly Counted[] {
  const of = (limits: Limits, more: Omit<JobFilter, 'state'>): readonly Counted[] =>
    ENDED_STATES.flatMap(state => {
      const count = limits[state]?.count
      return count === undefined ? [] : [{ filter: { ...more, state }, count }]
    })
  return [
    ...of(all, {}),
    ...[...queues].flatMap(([queue, limits]) => of(limits, { queue })),
    ...[...jobs].flatMap(([name, limits]) => of(limits, { name })),
  ]
}

/** Removes the oldest jobs beyond the count, except those with a limit of their own. */
async function pruneByCount(
  store: Store,
  plan: RetentionPlan,
  filter: Counted['filter'],
  count: number,
): Promise<number> {
  const { value } = await store.count(filter, count + ROWS_PER_STEP)
  if (value <= count) return 0
  const { data } = await store.list(filter, { limit: Math.min(ROWS_PER_STEP, value - count), order: 'oldest' })
  const own = data.filter(({ queue, name }) => limitFor(plan, filter.state, queue, name).count === count)
  return removeAll(store, own)
}

async function removeAll(store: Store, jobs: readonly { readonly id: string }[]): Promise<number> {
  if (jobs.length === 0) return 0
  const answers = await store.remove(
    jobs.map(({ id }) => id),
    'ended',
  )
  return answers.filter(({ status }) => status === 'changed').length
}
