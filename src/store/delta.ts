import { FAILED, type Job } from '../core/job/job.js'
import { IdSum } from './id-xor.js'
import type { RunEnd, Settlement } from './run.js'
import { isLive } from './scope.js'
import { addRun, noTimings, type TimingSum, type Timings, timingsOf } from './timing-sum.js'

/**
 * The counter changes of one batch of writes. A delta is appended in the transaction of the writes and added up later
 * (`fold.ts`), so that concurrent enqueues and settlements never contend for a shared counter row.
 */
export interface Delta {
  readonly at: number
  /** Changes by queue. `idSum` covers the ids of created and removed jobs. */
  readonly ledger: Readonly<Record<string, LedgerDelta>>
  /** Event counts by `queue name`, joined with a space. */
  readonly counts: Readonly<Record<string, Counts>>
  /**
   * Counts of runs by the minute in which they ended (epoch milliseconds of its start), which may be before `at`: so
   * the counts of a time range agree with the jobs that ended in it. Absent without runs.
   */
  readonly runs?: Readonly<Record<string, Readonly<Record<string, Counts>>>>
  /** How long these runs took and their jobs waited. Absent without runs. */
  readonly timings?: Readonly<Record<string, Readonly<Record<string, Timings>>>>
  readonly errors: readonly ErrorDelta[]
}

export interface LedgerDelta {
  readonly enqueued: number
  readonly removed: number
  readonly idSum: string
}

/**
 * The names of the counts are `enqueued`; runs by status (`run:failed`); `first` and `retry` for runs that counted;
 * `retry:succeeded` for jobs that succeeded on a retry; `retry:measured` for retries whose latency (failure to start) is
 * known, and `retry:latency` for its total; `end:succeeded`, `end:cancelled` and `end:dead` for jobs that ended, with
 * `dead:exhausted` and so on by reason; and `ms` for the total duration of the runs. Totals are in milliseconds.
 */
export type Counts = Record<string, number>

/** The changes of one error group. */
export interface ErrorDelta {
  readonly fingerprint: string
  readonly tenantId?: string
  /** Absent if jobs only left the dead letters. */
  readonly seen?: {
    readonly title: string
    readonly error: string
    readonly code?: string
    readonly status?: number
    readonly name: string
    readonly queue: string
    readonly jobId: string
  }
  readonly failures: number
  readonly deaths: number
  /** The change in the number of dead letters. */
  readonly dead: number
  /** The failed runs by queue, job name and worker; absent if jobs only left the dead letters. */
  readonly by?: Readonly<Record<ErrorTrait, Counts>>
}

/** What the failed runs of an error group are broken down by. */
export const ERROR_TRAITS = ['queue', 'name', 'worker'] as const
export type ErrorTrait = (typeof ERROR_TRAITS)[number]

const MINUTE_MS = 60_000

type Ended = Extract<RunEnd, { kind: 'ended' }>
/** The facts about a run that are counted. */
type Ran = Pick<
  Settlement,
  'queue' | 'name' | 'tenantId' | 'attempt' | 'dueAt' | 'failedAt' | 'startedAt' | 'finishedAt'
> & {
  readonly lease: Pick<Settlement['lease'], 'id'>
  readonly workerId?: string
}
type RanEnd = Pick<Ended, 'group' | 'error'> & {
  readonly transition: Pick<Ended['transition'], 'status' | 'attemptBack' | 'reason'>
}
type Known = Pick<Job, 'id' | 'queue' | 'name' | 'tenantId' | 'state' | 'reason' | 'fingerprint'>

/**
 * The counts of one queue and job name. The most frequent events have their own fields, which are faster than a map.
 */
interface Place {
  readonly queue: string
  readonly name: string
  /** The minute in which the runs ended; undefined for events at the time of the transaction. */
  readonly minute: number | undefined
  enqueued: number
  succeeded: number
  first: number
  retry: number
  /** Jobs that succeeded on a retry. */
  succeededOnRetry: number
  /** Retries whose latency is known, and its total. */
  measured: number
  latencyMs: number
  ms: number
  readonly timings: TimingSum
  readonly others: Counts
}

interface LedgerDraft {
  enqueued: number
  removed: number
  readonly idSum: IdSum
}

type Unseen = Omit<ErrorDelta, 'seen'>
type ErrorDraft = { -readonly [Field in keyof Unseen]: Unseen[Field] }

/** Collects the delta of one transaction. */
export class DeltaDraft {
  readonly #ledger = new Map<string, LedgerDraft>()
  readonly #places = new Map<string, Place>()
  readonly #errors = new Map<string, ErrorDraft>()
  /** The last failure of each group. */
  readonly #seen = new Map<ErrorDraft, readonly [Ran, RanEnd]>()
  #last: Place | undefined

  get isEmpty(): boolean {
    return this.#ledger.size + this.#places.size + this.#errors.size === 0
  }

  enqueued(job: Pick<Job, 'id' | 'queue' | 'name'>): void {
    this.found(job)
    this.#placeOf(job.queue, job.name).enqueued++
  }

  /** Counts a job that is older than the ledger. */
  found({ id, queue }: Pick<Job, 'id' | 'queue'>): void {
    const ledger = this.#ledgerOf(queue)
    ledger.enqueued++
    ledger.idSum.add(id)
  }

  /** Moves a job to another queue: the new queue counts it as created, the old one as removed. */
  moved({ id, queue }: Pick<Job, 'id' | 'queue'>, to: string): void {
    const ledger = this.#ledgerOf(queue)
    ledger.removed++
    ledger.idSum.add(id)
    this.found({ id, queue: to })
  }

  /**
   * Counts the end of a run and the job's new state. `fingerprint` is the job's current one: a job can die without an
   * error of its own.
   */
  settled(settlement: Ran, end: RanEnd, state: Job['state'], fingerprint = end.group?.fingerprint): void {
    const { queue, name, attempt, dueAt, failedAt, startedAt, finishedAt } = settlement
    const { transition } = end
    const place = this.#placeOf(queue, name, Math.floor(finishedAt / MINUTE_MS) * MINUTE_MS)
    place.ms += Math.max(0, Math.round(finishedAt - startedAt))
    if (transition.status !== 'deferred') {
      // The end of a lost run was not observed.
      const tookMs = transition.status === 'lost' ? undefined : finishedAt - startedAt
      const waitedMs = dueAt === undefined ? undefined : startedAt - dueAt
      addRun(place.timings, { jobId: settlement.lease.id, attempt, tookMs, waitedMs })
    }
    if (!transition.attemptBack) {
      if (attempt <= 1) place.first++
      else {
        place.retry++
        if (failedAt !== undefined) {
          place.measured++
          place.latencyMs += Math.max(0, Math.round(startedAt - failedAt))
        }
      }
    }
    if (state === 'succeeded' && transition.status === 'succeeded') {
      place.succeeded++
      if (attempt > 1) place.succeededOnRetry++
      return
    }
    add(place.others, `run:${transition.status}`)
    if (state !== 'waiting') add(place.others, `end:${state}`)
    this.#failed(settlement, end, state === 'dead' ? 1 : 0)
    if (state !== 'dead') return
    add(place.others, `dead:${transition.reason ?? 'exhausted'}`)
    if (fingerprint !== undefined) this.#errorOf(fingerprint, settlement.tenantId).dead++
  }

  /** Counts a waiting job that ended without a run. */
  ended({ queue, name, state, reason, fingerprint, tenantId }: Known): void {
    const { others } = this.#placeOf(queue, name)
    add(others, `end:${state}`)
    if (state !== 'dead') return
    add(others, `dead:${reason ?? 'expired'}`)
    if (fingerprint !== undefined) this.#errorOf(fingerprint, tenantId).dead++
  }

  /** Counts a dead job, as it was before it was redriven or discarded. */
  leftDead({ state, reason, fingerprint, tenantId }: Known): void {
    if (state === 'dead' && reason !== 'discarded' && fingerprint !== undefined) {
      this.#errorOf(fingerprint, tenantId).dead--
    }
  }

  /** Counts a change that is not the end of a run. */
  changed(before: Known, next: Known): void {
    if (next.queue !== before.queue) this.moved(before, next.queue)
    if (isLive(before) && !isLive(next)) this.ended(next)
    const isDeadLetter = next.state === 'dead' && next.reason !== 'discarded'
    if (!isDeadLetter) this.leftDead(before)
  }

  /** Counts a removed job, as it was before. */
  removed(job: Known): void {
    const ledger = this.#ledgerOf(job.queue)
    ledger.removed++
    ledger.idSum.add(job.id)
    this.leftDead(job)
  }

  /** Returns the JSON text of a `Delta`. */
  toText(at: number): string {
    const delta: Delta = {
      at,
      ledger: Object.fromEntries(
        [...this.#ledger].map(([queue, { enqueued, removed, idSum }]) => [
          queue,
          { enqueued, removed, idSum: idSum.toString() },
        ]),
      ),
      ...placesOf(this.#places.values()),
      errors: [...this.#errors.values()].map(draft => ({ ...draft, ...seenIn(this.#seen.get(draft)) })),
    }
    return JSON.stringify(delta)
  }

  #failed(ran: Ran, end: RanEnd, deaths: number): void {
    if (end.group === undefined || !FAILED.has(end.transition.status)) return
    const draft = this.#errorOf(end.group.fingerprint, ran.tenantId)
    draft.failures++
    draft.deaths += deaths
    draft.by ??= { queue: tally(), name: tally(), worker: tally() }
    add(draft.by.queue, ran.queue)
    add(draft.by.name, ran.name)
    if (ran.workerId !== undefined) add(draft.by.worker, ran.workerId)
    this.#seen.set(draft, [ran, end])
  }

  #ledgerOf(queue: string): LedgerDraft {
    const known = this.#ledger.get(queue)
    if (known) return known
    const draft = { enqueued: 0, removed: 0, idSum: new IdSum() }
    this.#ledger.set(queue, draft)
    return draft
  }

  #placeOf(queue: string, name: string, minute?: number): Place {
    // Nearly every batch has one queue and one job name.
    const last = this.#last
    if (queue === last?.queue && name === last.name && minute === last.minute) return last
    const key = `${minute ?? ''} ${queue} ${name}`
    const none = {
      enqueued: 0,
      succeeded: 0,
      first: 0,
      retry: 0,
      succeededOnRetry: 0,
      measured: 0,
      latencyMs: 0,
      ms: 0,
    }
    const place = this.#places.get(key) ?? { queue, name, minute, ...none, timings: noTimings(), others: {} }
    this.#places.set(key, place)
    this.#last = place
    return place
  }

  #errorOf(fingerprint: string, tenantId: string | undefined): ErrorDraft {
    const key = groupId(fingerprint, tenantId)
    const known = this.#errors.get(key)
    if (known) return known
    const draft: ErrorDraft = {
      fingerprint,
      ...(tenantId !== undefined && { tenantId }),
      failures: 0,
      deaths: 0,
      dead: 0,
    }
    this.#errors.set(key, draft)
    return draft
  }
}

function placesOf(places: Iterable<Place>): Pick<Delta, 'counts' | 'runs' | 'timings'> {
  const counts: Record<string, Counts> = {}
  const runs: Record<string, Record<string, Counts>> = {}
  const timings: Record<string, Record<string, Timings>> = {}
  for (const place of places) {
    const key = `${place.queue} ${place.name}`
    const { minute } = place
    if (minute === undefined) counts[key] = countsOf(place)
    else {
      runs[minute] = { ...runs[minute], [key]: countsOf(place) }
      const timed = timingsOf(place.timings)
      if (timed) timings[minute] = { ...timings[minute], [key]: timed }
    }
  }
  return {
    counts,
    ...(Object.keys(runs).length > 0 && { runs }),
    ...(Object.keys(timings).length > 0 && { timings }),
  }
}

function countsOf(place: Place): Counts {
  const { enqueued, succeeded, first, retry, succeededOnRetry, measured, latencyMs, ms, others } = place
  const counts = { ...others }
  const known = {
    enqueued,
    first,
    retry,
    'retry:succeeded': succeededOnRetry,
    'retry:measured': measured,
    'retry:latency': latencyMs,
    ms,
    'run:succeeded': succeeded,
    'end:succeeded': succeeded,
  }
  for (const [what, by] of Object.entries(known)) if (by > 0) add(counts, what, by)
  return counts
}

function seenIn(last: readonly [Ran, RanEnd] | undefined): Pick<ErrorDelta, 'seen'> {
  if (last === undefined) return {}
  const [{ name, queue, lease }, { group, error, transition }] = last
  return {
    seen: {
      title: group!.title,
      error: error?.name ?? transition.status,
      ...(error?.code !== undefined && { code: error.code }),
      ...(error?.status !== undefined && { status: error.status }),
      name,
      queue,
      jobId: lease.id,
    },
  }
}

/** A group belongs to one tenant, or to none. A fingerprint never contains `@`. */
export function groupId(fingerprint: string, tenantId: string | undefined): string {
  return tenantId === undefined ? fingerprint : `${fingerprint}@${tenantId}`
}

/** Sums by names that users choose: without a prototype, `constructor` is a name like any other. */
export function tally(old: Counts = {}): Counts {
  return Object.assign(Object.create(null) as Counts, old)
}

export function add(counts: Counts, what: string, by = 1): void {
  counts[what] = (counts[what] ?? 0) + by
}
