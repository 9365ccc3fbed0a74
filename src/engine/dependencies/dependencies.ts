import {
  type Ask,
  admit,
  advanced,
  type Dependency,
  type DependencyName,
  type DependencySettings,
  isFree,
  newDependency,
  probed,
  seen,
  throttled,
  type Verdict,
  withSettings,
} from '../../core/dependency/dependency.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import { requestedWaitMs } from '../../core/policy/retry.js'
import { wait } from '../../core/values/clock.js'
import type { StoredRecord } from '../../store/record.js'
import type { Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { bodyOf } from '../records/records.js'
import { backOffMs } from '../time/loop.js'
import type { Attempt } from '../worker/attempt.js'
import { answerOf, dependencyId, type SharedDependency, whyOf } from './answer.js'
import { DeferredJobs } from './deferred-jobs.js'
import { giveBack, hasSeen, type KnownDependency, NOTHING } from './known-dependency.js'
import { lostProbe } from './lost-probe.js'
import { announceTransition } from './transition.js'

export const DEPENDENCY = 'dependency'

/** Observations of a dependency are written to the store after this time at the latest. */
const WRITE_MS = 250
/** How soon a change by another process is read. */
const LOOK_MS = 500
/** A dependency that no job of this process has used for this long is read less often. */
const IN_USE_MS = 10_000
/** The number of records that a step reads of all dependencies; the next step reads on from there. */
export const RECORDS_AT_ONCE = 1_000
/** How soon it reads on, if no dependency is in use. */
const WALK_MS = 1_000
/** A dependency that no job of this process has used for this long is forgotten. */
const FORGOTTEN_MS = 3_600_000

/**
 * Circuits and retry budgets of the whole fleet, as seen by one process. The state of a dependency is a record in the
 * store that all processes change by compare-and-set. A job whose dependency is free starts without a store call.
 */
export class Dependencies {
  readonly #env: Environment
  readonly #deferredJobs: DeferredJobs<KnownDependency>
  readonly #entries = new Map<string, KnownDependency>()
  /** Where the walk through the records of all dependencies continues. */
  #walkedTo = ''
  /** Called when a dependency is in use again, so that its record is read soon. */
  onUse: () => void = () => undefined

  /** `onMoved` is called when jobs were rescheduled, because this process's workers may take some of them. */
  constructor(env: Environment, onMoved: () => void) {
    this.#env = env
    this.#deferredJobs = new DeferredJobs({ env, onMoved, change: (entry, change) => this.#change(entry, change) })
  }

  /** Whether the attempt may start. Undefined: it may start at once. */
  ask(attempt: Attempt): Promise<Verdict> | undefined {
    const place = attempt.dependency!
    const entry = this.#entryOf(place)
    this.#use(entry)
    const isRetry = attempt.attempt > 1
    if (entry.isCurrent && isFree(entry.dependency, isRetry) && entry.asks.length === 0 && !this.#willOpen(entry))
      return undefined
    return new Promise(resolve => {
      const { id: jobId, claimed, atMostOnce, timeoutMs, policy } = attempt
      const ask: Ask = {
        jobId,
        workerId: claimed.workerId,
        run: claimed.run,
        isRetry,
        isRepeatable: !atMostOnce,
        isLastRetry: isRetry && attempt.attempt > policy.maxRetries,
        probeMs: timeoutMs + 5_000,
        ...(claimed.pass !== undefined && { pass: claimed.pass }),
      }
      entry.asks.push({ ask, answer: resolve })
      if (!entry.isAnswering) void this.#answer(entry)
    })
  }

  started(attempt: Attempt): void {
    const place = attempt.dependency!
    if (!place.settings.budget) return
    const entry = this.#entryOf(place)
    if (attempt.attempt > 1) entry.unwritten.retry++
    else entry.unwritten.first++
    this.#writeSoon(entry)
  }

  /** Records what the outcome of a run says about its dependency. */
  ended(attempt: Attempt, outcome: Outcome): void {
    const place = attempt.dependency!
    const entry = this.#entryOf(place)
    const answer = answerOf(outcome)
    const why = whyOf(outcome)
    const askedMs = outcome.kind === 'failed' ? requestedWaitMs(attempt.policy, outcome) : undefined
    entry.throttleMs = Math.max(entry.throttleMs, askedMs ?? 0)
    if (attempt.isProbe) {
      this.#probeEnded(entry, attempt, answer, why)
      return
    }
    if (answer === 'up') entry.unwritten.ok++
    if (answer === 'down') {
      entry.unwritten.failed++
      entry.why = why
    }
    if (answer !== 'unsure' || entry.throttleMs > 0) this.#writeSoon(entry)
  }

  #probeEnded(
    entry: KnownDependency,
    { id }: Attempt,
    answer: 'up' | 'down' | 'unsure',
    why: string | undefined,
  ): void {
    void this.#change(entry, dependency => probed(dependency, id, answer, this.#env.time.now(), why)).then(() =>
      this.#moveJobsNow(entry),
    )
    this.#writeSoon(entry)
  }

  /** Runs now instead of with the next step. If it fails, the next step repeats it. */
  async #moveJobsNow(entry: KnownDependency): Promise<void> {
    try {
      await this.#deferredJobs.update(entry)
    } catch (error) {
      this.#env.log.warn(
        { event: 'dependency.failed', ...named(entry.dependency), err: error },
        'failed to move waiting jobs, retrying',
      )
    }
  }

  /**
   * A step of a loop: reads the decisions of other processes, defers the waiting jobs of open circuits and brings them
   * back.
   */
  async step(idleMs: number): Promise<number> {
    const store = await this.#env.connection.store()
    const now = this.#env.clock.now()
    await this.#listen(store, now)
    this.#forget(now)
    let isInUse = false
    for (const entry of this.#entries.values()) {
      const isShut = entry.dependency.circuit !== 'closed'
      if (isShut) {
        await this.#reportLostProbe(store, entry)
        await this.#deferredJobs.update(entry)
      }
      if (isShut || now - entry.usedAt < IN_USE_MS) isInUse = true
    }
    if (isInUse) return Math.min(LOOK_MS, idleMs)
    return this.#walkedTo === '' ? idleMs : Math.min(WALK_MS, idleMs)
  }

  /**
   * Reads the decisions of other processes. If there are very many dependencies, those that this process uses or holds
   * back are read each time, and the others in turns.
   */
  async #listen(store: Store, now: number): Promise<void> {
    const from = this.#walkedTo
    const records = await store.records(DEPENDENCY, { from, limit: RECORDS_AT_ONCE })
    for (const record of records) this.#hear(record)
    const last = records.length < RECORDS_AT_ONCE ? undefined : records.at(-1)!.id
    this.#walkedTo = last === undefined ? '' : `${last}\u0001`
    if (from === '' && last === undefined) return
    const read = new Set(records.map(({ id }) => id))
    const ids = [...this.#entries.values()].flatMap(({ id, dependency, usedAt }) =>
      read.has(id) || (dependency.circuit === 'closed' && now - usedAt >= IN_USE_MS) ? [] : id,
    )
    for (let first = 0; first < ids.length; first += RECORDS_AT_ONCE) {
      const some = ids.slice(first, first + RECORDS_AT_ONCE)
      for (const record of await store.records(DEPENDENCY, { ids: some })) this.#hear(record)
    }
  }

  /** The state of a dependency that is used again is read first, so nothing is lost. */
  #forget(now: number): void {
    for (const [id, { dependency, usedAt, asks, isWriteDue, isAnswering }] of this.#entries) {
      const isIdle = asks.length === 0 && !isWriteDue && !isAnswering
      if (isIdle && dependency.circuit === 'closed' && now - usedAt >= FORGOTTEN_MS) this.#entries.delete(id)
    }
  }

  /** Without this, the circuit would be half-open until the timeout of the lost run. */
  async #reportLostProbe(store: Store, entry: KnownDependency): Promise<void> {
    const probe = await lostProbe(this.#env, store, entry)
    if (!probe) return
    const { jobId, workerId } = probe
    const facts = { ...named(entry.dependency), jobId, workerId }
    this.#env.log.warn({ event: 'probe.lost', ...facts }, 'probe of a circuit was lost')
    await this.#change(entry, dependency => probed(dependency, jobId, 'unsure', this.#env.time.now()))
  }

  /** Changes a dependency for an operator or because of an observation. Returns the new state. */
  async change(name: DependencyName, change: (dependency: Dependency, now: number) => Dependency): Promise<Dependency> {
    const entry = this.#entry(dependencyId(name), name)
    await this.#change(entry, dependency => change(dependency, this.#env.time.now()))
    await this.#moveJobsNow(entry)
    return entry.dependency
  }

  #use(entry: KnownDependency): void {
    const now = this.#env.clock.now()
    const wasIdle = now - entry.usedAt >= IN_USE_MS
    entry.usedAt = now
    if (!wasIdle) return
    entry.isCurrent = false
    this.onUse()
  }

  #entryOf(place: SharedDependency): KnownDependency {
    const entry = this.#entry(place.id, place, place.settings)
    entry.dependency = withSettings(entry.dependency, place.settings)
    return entry
  }

  #entry(id: string, name: DependencyName, settings: DependencySettings = {}): KnownDependency {
    const known = this.#entries.get(id)
    if (known) return known
    const entry: KnownDependency = {
      id,
      dependency: newDependency(name, settings, this.#env.time.now()),
      version: 0,
      isCurrent: false,
      unwritten: { ...NOTHING },
      why: undefined,
      throttleMs: 0,
      asks: [],
      writing: Promise.resolve(),
      isAnswering: false,
      isWriteDue: false,
      probeOverAt: undefined,
      movedRound: 0,
      usedAt: Number.NEGATIVE_INFINITY,
    }
    this.#entries.set(id, entry)
    return entry
  }

  #hear({ id, version, body }: StoredRecord): void {
    const known = this.#entries.get(id)
    if (known) known.isCurrent = true
    if (known && version <= known.version) return
    const [dependency] = bodyOf<Dependency>({ body })
    if (!dependency) return
    // Most dependencies work, and most of them are used by other processes.
    if (!known && dependency.circuit === 'closed') return
    const entry = known ?? this.#entry(id, dependency)
    entry.isCurrent = true
    this.#became(entry, dependency, version)
  }

  #became(entry: KnownDependency, dependency: Dependency, version: number): void {
    entry.dependency = dependency
    entry.version = version
  }

  /** Observations that only this process has yet will open the circuit: no job may start before they are written. */
  #willOpen({ dependency, unwritten, throttleMs }: KnownDependency): boolean {
    if (throttleMs > 0) return true
    return unwritten.failed > 0 && seen(dependency, unwritten, this.#env.time.now()).circuit === 'open'
  }

  async #answer(entry: KnownDependency): Promise<void> {
    const { time, dice } = this.#env
    entry.isAnswering = true
    while (entry.asks.length > 0) {
      const waiting = entry.asks
      entry.asks = []
      let verdicts: Verdict[] = []
      await this.#change(entry, dependency => {
        verdicts = []
        const now = time.now()
        let next = dependency
        for (const { ask } of waiting) {
          const [after, verdict] = admit(next, ask, now, dice.random)
          verdicts.push(verdict)
          next = after
        }
        return next
      })
      for (const [index, { answer }] of waiting.entries()) answer(verdicts[index]!)
    }
    entry.isAnswering = false
  }

  #writeSoon(entry: KnownDependency): void {
    if (entry.isWriteDue) return
    entry.isWriteDue = true
    const write = (): void => {
      entry.isWriteDue = false
      void this.#change(entry, dependency => dependency)
    }
    if (this.#willOpen(entry)) this.#env.clock.soon(write)
    else this.#env.clock.timer(WRITE_MS, write)
  }

  /** Writes are made one after the other, each on the newest state. Each also carries this process's observations. */
  #change(entry: KnownDependency, change: (dependency: Dependency) => Dependency): Promise<void> {
    const done = entry.writing.then(() => this.#write(entry, change))
    entry.writing = done
    return done
  }

  async #write(entry: KnownDependency, change: (dependency: Dependency) => Dependency): Promise<void> {
    const { connection, clock, dice, log, time } = this.#env
    for (let failures = 0; ; ) {
      const { unwritten, why, throttleMs } = entry
      entry.unwritten = { ...NOTHING }
      entry.throttleMs = 0
      try {
        const store = await connection.store()
        if (!entry.isCurrent) await this.#load(store, entry)
        const before = entry.dependency
        const now = time.now()
        const updated = hasSeen(unwritten) ? seen(advanced(before, now), unwritten, now, why) : advanced(before, now)
        const next = change(throttleMs > 0 ? throttled(updated, throttleMs, now) : updated)
        if (next === before) return
        const [put] = await store.putRecords([
          { kind: DEPENDENCY, id: entry.id, body: JSON.stringify(next), expect: entry.version },
        ])
        if (put!.status === 'written') {
          this.#became(entry, next, put!.version)
          await announceTransition(this.#env, before, next, now)
          return
        }
        if (put!.current)
          this.#became(
            entry,
            withSettings(JSON.parse(put!.current.body) as Dependency, before.settings),
            put!.current.version,
          )
        else entry.version = 0
        giveBack(entry, unwritten, throttleMs)
      } catch (error) {
        giveBack(entry, unwritten, throttleMs)
        if (connection.isClosed) return
        const retryInMs = backOffMs(failures++, dice)
        log.warn(
          { event: 'dependency.failed', ...named(entry.dependency), retryInMs, err: error },
          'failed to save circuit state, retrying',
        )
        await wait(clock, retryInMs)
      }
    }
  }

  async #load(store: Store, entry: KnownDependency): Promise<void> {
    const [record] = await store.records(DEPENDENCY, { ids: [entry.id] })
    entry.isCurrent = true
    if (!record) return
    // A damaged record is replaced by the next change.
    const [stored = entry.dependency] = bodyOf<Dependency>(record)
    this.#became(entry, withSettings(stored, entry.dependency.settings), record.version)
  }
}

const named = ({ key: dependency, tenantId }: DependencyName) => ({ dependency, tenantId })
