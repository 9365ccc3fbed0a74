import { redrive as redriveJobs } from '../../core/job/changes.js'
import {
  isActive,
  isCanaryOver,
  isLeftAlone,
  type Redrive,
  type RedriveConflict,
  startable,
  startedOf,
  stopRule,
} from '../../core/redrive/redrive.js'
import { shown } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import type { JobFilter, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { Records, type RecordsEnvironment, type Stored } from '../records/records.js'

export const REDRIVE = 'redrive'

const STEP_MS = 100
/** If the process that drives a redrive dies, another takes over after this time. */
const LOCK_MS = 5_000
const BATCH_MAX = 500
const CONFLICTS_MAX = 100
/** A look reads as many redrives as are kept, because one that was paused long ago may have been resumed. */
const LOOK_AT = 10_000
/** Jobs examined in one step. If few of very many match, the next step continues from there. */
const LOOK_AT_JOBS = 20_000

/** A redrive that this process drives. */
interface Held {
  readonly redrive: Redrive
  version: number
  /** When half of the lock's time is over, on this process's clock. */
  renewAt: number
}

export function redriveRecords(env: RecordsEnvironment): Records<Redrive> {
  return new Records({ env, kind: REDRIVE, name: id => `redrive ${shown(id)}` })
}

/** Carries out redrives step by step. Each active redrive is driven by the process that holds its lock. */
export class Redriver {
  readonly #env: Environment
  readonly #records: Records<Redrive>
  readonly #id: string
  readonly #idleMs: number
  readonly #onStarted: () => void
  /** Between two looks at all redrives only the active ones are read. */
  #activeIds: readonly string[] = []
  #lookAt = Number.NEGATIVE_INFINITY
  #isAsked = false

  constructor(env: Environment, idleMs: number, onStarted: () => void) {
    this.#env = env
    this.#records = redriveRecords(env)
    this.#idleMs = idleMs
    this.#id = env.dice.id(env.clock.now())
    this.#onStarted = onStarted
  }

  /** A redrive was started or changed in this process: the next step reads all of them. */
  look(): void {
    this.#isAsked = true
  }

  async step(): Promise<number> {
    const now = this.#env.clock.now()
    if (this.#isAsked) this.#lookAt = Number.NEGATIVE_INFINITY
    this.#isAsked = false
    const isLook = now >= this.#lookAt
    const active = await this.#readActive(isLook)
    if (isLook) this.#lookAt = now + this.#idleMs
    this.#activeIds = active.map(({ id }) => id)
    const store = await this.#env.connection.store()
    for (const redrive of active) await this.#drive(store, redrive)
    if (active.length > 0) return STEP_MS
    // The last active one has ended: others may have been started since the last look.
    return isLook ? this.#idleMs : Math.max(STEP_MS, this.#lookAt - now)
  }

  async #readActive(isLook: boolean): Promise<readonly Stored<Redrive>[]> {
    if (isLook) return this.#records.page({ limit: LOOK_AT, order: 'down' }, isActive)
    const known = await this.#records.these(this.#activeIds)
    return known.filter(({ body }) => isActive(body))
  }

  async #drive(store: Store, { id, version, body: redrive }: Stored<Redrive>): Promise<void> {
    const askedAt = this.#env.clock.now()
    const { now } = await store.info()
    if (redrive.lockedBy !== this.#id && (redrive.lockedUntil ?? 0) > now) return
    const locked = { ...redrive, lockedBy: this.#id, lockedUntil: now + LOCK_MS }
    const lockedVersion = await this.#records.write(id, locked, version)
    if (lockedVersion === undefined) return
    const held: Held = { redrive: locked, version: lockedVersion, renewAt: askedAt + LOCK_MS / 2 }
    const next = await this.#advance(store, held, now)
    // If this write loses to a pause or an abort, the next step reads the redrive again.
    if (next) await this.#records.write(id, next, held.version)
  }

  /** Undefined if another process has taken over. */
  async #advance(store: Store, held: Held, now: number): Promise<Redrive | undefined> {
    const { redrive } = held
    const results = await store.tally(redrive.id)
    const why = stopRule(redrive, results)
    if (why !== undefined) return this.#finished({ ...redrive, why }, 'stopped', now)
    if (redrive.state === 'canary' && isCanaryOver(redrive, results)) {
      const pace = { from: now, started: startedOf(results), isSteep: false }
      return { ...redrive, state: 'running', pace }
    }
    if (redrive.isListed) {
      const isOver = redrive.state === 'running' && results.pending + results.running === 0
      return isOver ? this.#finished(redrive, 'done', now) : redrive
    }
    const count = Math.min(BATCH_MAX, startable(redrive, results, now))
    return count === 0 ? redrive : this.#start(store, held, count)
  }

  /** A process that was suspended must not start the jobs that another one has started meanwhile. */
  async #isStillMine(held: Held): Promise<boolean> {
    const now = this.#env.clock.now()
    if (now < held.renewAt) return true
    const { redrive } = held
    const renewed = { ...redrive, lockedUntil: this.#env.time.now() + LOCK_MS }
    const version = await this.#records.write(redrive.id, renewed, held.version)
    if (version === undefined) return false
    held.version = version
    held.renewAt = now + LOCK_MS / 2
    return true
  }

  async #start(store: Store, held: Held, count: number): Promise<Redrive | undefined> {
    const { redrive } = held
    const page = await store.list(
      filterOf(redrive),
      present({ limit: count, order: 'oldest', lookAt: LOOK_AT_JOBS, cursor: redrive.cursor }),
    )
    if (!(await this.#isStillMine(held))) return undefined
    const wanted = page.data.filter(job => !isLeftAlone(redrive, job.reason))
    const changed = await store.change(
      wanted.map(job => job.id),
      redriveJobs({ redriveId: redrive.id, endedBy: redrive.createdAt }),
    )
    const conflicts = changed.flatMap((one): RedriveConflict[] =>
      one.status === 'refused' && one.conflictId !== undefined ? [{ jobId: one.id, conflictId: one.conflictId }] : [],
    )
    if (changed.some(one => one.status === 'changed')) this.#onStarted()
    return {
      ...redrive,
      ...present({ cursor: page.next }),
      isListed: page.next === undefined,
      skipped: redrive.skipped + page.data.length - wanted.length,
      conflicts: [...redrive.conflicts, ...conflicts].slice(0, CONFLICTS_MAX),
      conflictCount: redrive.conflictCount + conflicts.length,
    }
  }

  #finished(redrive: Redrive, state: 'stopped' | 'done', now: number): Redrive {
    const { id, why } = redrive
    this.#env.log.info({ event: `redrive.${state}`, redriveId: id, why }, 'redrive ended')
    return { ...redrive, state, finishedAt: now }
  }
}

/** Limited to jobs that were dead when the redrive began, so that a job that dies again is not redriven for ever. */
export function filterOf({ filter, createdAt }: Pick<Redrive, 'filter' | 'createdAt'>): JobFilter {
  return { ...filter, state: 'dead', finishedBefore: createdAt + 1 }
}
