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
import type { StoredRecord } from '../../store/record.js'
import type { JobFilter, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'

export const REDRIVE = 'redrive'

const STEP_MS = 100
/** A process that died in the middle is replaced after so long. */
const LOCK_MS = 5_000
const BATCH_MAX = 500
const CONFLICTS_MAX = 100
/** All that are kept: one that was paused long ago may have been resumed. */
const LOOK_AT = 10_000
/** For one step: where few of very many match, the next step goes on from there. */
const LOOK_AT_JOBS = 20_000

/** Carries redrives out, a step at a time; of many processes the one that has the lock. */
export class Redriver {
  readonly #env: Environment
  readonly #id: string
  readonly #idleMs: number
  readonly #onStarted: () => void

  constructor(env: Environment, idleMs: number, onStarted: () => void) {
    this.#env = env
    this.#idleMs = idleMs
    this.#id = env.dice.id(env.clock.now())
    this.#onStarted = onStarted
  }

  async step(): Promise<number> {
    const store = await this.#env.connection.store()
    const records = await store.records(REDRIVE, { limit: LOOK_AT, order: 'down' })
    let isBusy = false
    for (const record of records) {
      const redrive = JSON.parse(record.body) as Redrive
      if (!isActive(redrive)) continue
      isBusy = true
      await this.#drive(store, record, redrive)
    }
    return isBusy ? STEP_MS : this.#idleMs
  }

  async #drive(store: Store, record: StoredRecord, redrive: Redrive): Promise<void> {
    const { now } = await store.info()
    if (redrive.lockedBy !== this.#id && (redrive.lockedUntil ?? 0) > now) return
    const locked = await this.#put(store, record.version, {
      ...redrive,
      lockedBy: this.#id,
      lockedUntil: now + LOCK_MS,
    })
    if (locked === undefined) return
    const next = await this.#advance(store, { ...redrive, lockedBy: this.#id, lockedUntil: now + LOCK_MS }, now)
    await this.#put(store, locked, next)
  }

  /** undefined: somebody changed it meanwhile; the next step sees what they want. */
  async #put(store: Store, expect: number, redrive: Redrive): Promise<number | undefined> {
    const [put] = await store.putRecords([{ kind: REDRIVE, id: redrive.id, body: JSON.stringify(redrive), expect }])
    return put!.status === 'written' ? put!.version : undefined
  }

  async #advance(store: Store, redrive: Redrive, now: number): Promise<Redrive> {
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
    return count === 0 ? redrive : this.#start(store, redrive, count)
  }

  async #start(store: Store, redrive: Redrive, count: number): Promise<Redrive> {
    const page = await store.list(filterOf(redrive), {
      limit: count,
      order: 'oldest',
      lookAt: LOOK_AT_JOBS,
      ...(redrive.cursor !== undefined && { cursor: redrive.cursor }),
    })
    const wanted = page.data.filter(job => !isLeftAlone(redrive, job.reason))
    const changed = await store.redrive(
      wanted.map(job => job.id),
      { redriveId: redrive.id },
    )
    const conflicts = changed.flatMap((one): RedriveConflict[] =>
      one.status === 'refused' && one.conflictId !== undefined ? [{ jobId: one.id, conflictId: one.conflictId }] : [],
    )
    if (changed.some(one => one.status === 'changed')) this.#onStarted()
    return {
      ...redrive,
      ...(page.next !== undefined && { cursor: page.next }),
      isListed: page.next === undefined,
      skipped: redrive.skipped + page.data.length - wanted.length,
      conflicts: [...redrive.conflicts, ...conflicts].slice(0, CONFLICTS_MAX),
      conflictCount: redrive.conflictCount + conflicts.length,
    }
  }

  #finished(redrive: Redrive, state: 'stopped' | 'done', now: number): Redrive {
    const { id, why } = redrive
    this.#env.log.info({ event: `redrive.${state}`, redriveId: id, why }, 'a redrive ended')
    return { ...redrive, state, finishedAt: now }
  }
}

/** Only what was dead when it began: a job that dies again is not sent round for ever. */
export function filterOf({ filter, createdAt }: Pick<Redrive, 'filter' | 'createdAt'>): JobFilter {
  return { ...filter, state: 'dead', finishedBefore: createdAt + 1 }
}
