import { isDeepStrictEqual } from 'node:util'
import { acknowledge, cancel, discard, expire } from '../../src/core/job/changes.js'
import {
  COUNTS,
  ERROR_COUNTS,
  ERROR_GROUP,
  LEDGER,
  QUEUE_TIMINGS,
  TIMING_PLACES,
  TIMINGS,
} from '../../src/store/fold.js'
import { HELD_COLUMNS } from '../../src/store/job-columns.js'
import type { Put, RecordWrite } from '../../src/store/record.js'
import type { Changed, Claimed, JobChange, Store } from '../../src/store/store.js'
import type { StoreModel } from '../model/model.js'

/** Every method of a store that returns a promise. A new one does not compile until it is in the tables below. */
export type Verb = {
  [V in keyof Store]-?: NonNullable<Store[V]> extends (...args: never[]) => Promise<unknown> ? V : never
}[keyof Store]

export type Arguments<V extends Verb> = Parameters<NonNullable<Store[V]>>
export type AnswerOf<V extends Verb> = Awaited<ReturnType<NonNullable<Store[V]>>>

/**
 * How a call may be disturbed. `calm` never is. A call with its own ids or tokens (`again`) may be executed a second
 * time even long after its response; the others only at the same moment.
 */
export const VERBS: Readonly<Record<Verb, 'calm' | 'once' | 'again'>> = {
  migrate: 'once',
  info: 'once',
  close: 'calm',
  enqueue: 'once',
  fire: 'once',
  claim: 'once',
  held: 'once',
  begin: 'again',
  extend: 'again',
  report: 'again',
  settle: 'again',
  expired: 'once',
  overdue: 'once',
  change: 'once',
  remove: 'once',
  prune: 'once',
  defer: 'once',
  get: 'once',
  list: 'once',
  count: 'once',
  liveSchedules: 'once',
  backlog: 'once',
  census: 'once',
  wave: 'once',
  waiting: 'once',
  tally: 'once',
  history: 'once',
  logs: 'once',
  queues: 'once',
  setQueue: 'once',
  removeQueues: 'once',
  partitions: 'once',
  putPolicies: 'once',
  policies: 'once',
  records: 'once',
  putRecords: 'once',
  fold: 'once',
  audit: 'once',
  beginEffect: 'again',
  endEffect: 'again',
}

type Foretold = {
  readonly [V in Verb]?: (model: StoreModel, now: number, ...args: Arguments<V>) => AnswerOf<V> | undefined
}

const FORETOLD: Foretold = {
  enqueue: (model, now, jobs) => jobs.map(job => model.enqueue(job, now)),
  fire: (model, now, firings) => firings.map(firing => model.fire(firing, now)),
  putRecords: (model, now, writes) => foretellRecords(model, writes, now),
  claim: (model, now, request) => model.claim(request, now),
  held: (model, now, token) => model.heldBy(token, now),
  begin: (model, _now, requests) => requests.map(request => model.begin(request)),
  extend: (model, now, leases, leaseMs) => leases.map(lease => model.extend(lease, leaseMs, now)),
  report: (model, _now, reports) => reports.map(report => model.report(report)),
  settle: (model, now, settlements) => settlements.map(settlement => model.settle(settlement, now)),
  expired: (model, now, { workers }) => model.expired(workers, now),
  overdue: (model, now, limit) => model.overdue(limit, now),
  change: (model, now, ids, decide) => ids.map((id, index) => foretellChange(model, id, index, decide, now)),
  remove: (model, now, ids) => ids.map(id => model.remove(id, now)),
  prune: (model, now, request) => model.prune(request, now),
  defer: (model, now, request) => model.defer(request, now),
  setQueue: (model, _now, name, change) => model.setQueue(name, change),
  beginEffect: (model, _now, lease, name) => model.beginEffect(lease, name),
  endEffect: (model, _now, lease, name, result) => model.endEffect(lease, name, result),
}

/** The store itself changes these when it folds; the model does not. */
const FOLDED: ReadonlySet<string> = new Set([
  LEDGER,
  COUNTS,
  ERROR_COUNTS,
  ERROR_GROUP,
  TIMINGS,
  QUEUE_TIMINGS,
  TIMING_PLACES,
])

function foretellRecords(model: StoreModel, writes: readonly RecordWrite[], now: number): readonly Put[] | undefined {
  const puts = writes.map(write => (FOLDED.has(write.kind) ? undefined : model.putRecord(write, now)))
  return puts.includes(undefined) ? undefined : (puts as readonly Put[])
}

/** Applies the model's own rule. A rule with options is asked what it wants of a job that it surely allows. */
function foretellChange(model: StoreModel, id: string, index: number, decide: JobChange, now: number): Changed {
  if (decide === cancel) return model.cancel(id, now)
  if (decide === acknowledge) return model.acknowledge(id, now)
  if (decide === discard) return model.discard(id, now)
  if (decide === expire) return model.expire(id, now)
  const job = model.row(id)?.job
  if (!job) return { id, status: 'not-found' }
  const { redriveId, ...others } = job
  const { finishedAt: _, ...fresh } = others
  const revived = decide({ ...fresh, state: 'dead' }, now, index)
  if (revived?.state === 'waiting') {
    // A redrive leaves jobs alone that have ended since it began, unless it has started them itself.
    const isLate = revived.redriveId !== redriveId && !decide({ ...others, state: 'dead' }, now, index)
    return isLate ? model.edit(id, undefined) : model.redrive(id, revived.redriveId, revived.runAt - now, now)
  }
  const moved = decide({ ...job, state: 'waiting' }, now, index)
  const isOnlyMoved = moved && isDeepStrictEqual({ ...moved, runAt: 0 }, { ...job, state: 'waiting', runAt: 0 })
  // An edit may change nothing.
  return isOnlyMoved && moved.runAt !== job.runAt
    ? model.reschedule(id, { at: moved.runAt }, now)
    : model.edit(id, decide({ ...job }, now, index))
}

/** Applies the call to the model; undefined for verbs that only read. */
export function foretell<V extends Verb>(
  model: StoreModel,
  verb: V,
  args: Arguments<V>,
  now: number,
): AnswerOf<V> | undefined {
  return FORETOLD[verb]?.(model, now, ...args)
}

/** The fields of a claim besides the optional columns. */
const FACTS: readonly (keyof Claimed)[] = [
  ...(['id', 'name', 'queue', 'priority', 'delivery', 'payload', 'tags', 'runAt', 'createdAt', 'generation'] as const),
  ...([
    'run',
    'attempt',
    'snoozes',
    'releases',
    'losses',
    'strikes',
    'suspect',
    'backoffMs',
    'failedAt',
    'begun',
  ] as const),
  ...(['cancelRequested', 'token', 'workerId', 'leaseUntil'] as const),
]
const CLAIMED_FIELDS: readonly (keyof Claimed)[] = [...FACTS, ...HELD_COLUMNS.map(({ field }) => field)]

/**
 * A store may return more about a claimed job than a worker needs, and less about when to claim again. The due time of
 * a job that has ended does not matter.
 */
export function isSameAnswer(verb: Verb, expected: unknown, answer: unknown): boolean {
  if (verb === 'settle') return isDeepStrictEqual(settledOf(expected), settledOf(answer))
  if (verb === 'change') return isDeepStrictEqual(changedOf(expected), changedOf(answer))
  if (verb === 'setQueue') return isDeepStrictEqual(queueOf(expected), queueOf(answer))
  if (verb !== 'claim' && verb !== 'held' && verb !== 'expired') return isDeepStrictEqual(expected, answer)
  type Answer = { now: number; jobs: readonly (Claimed & { alone?: boolean })[]; nextDueAt?: number }
  const [a, b] = [expected, answer] as [Answer, Answer]
  return (
    a.now === b.now &&
    a.jobs.length === b.jobs.length &&
    (b.nextDueAt === undefined || b.nextDueAt === a.nextDueAt) &&
    a.jobs.every((job, index) => isSameClaimed(job, b.jobs[index]!) && job.alone === b.jobs[index]!.alone)
  )
}

function settledOf(answer: unknown): unknown {
  return (answer as AnswerOf<'settle'>).map(one =>
    one.status === 'settled' && one.state !== 'waiting' ? { status: one.status, state: one.state } : one,
  )
}

/** A store sorts a job into its lane when it is written, or later. */
function changedOf(answer: unknown): unknown {
  return (answer as AnswerOf<'change'>).map(one => ('job' in one ? { ...one, job: { ...one.job, lane: '' } } : one))
}

function queueOf(answer: unknown): unknown {
  const { turn: _, limits, ...record } = answer as AnswerOf<'setQueue'>
  return { ...record, ...(limits && { limits: { ...limits, since: 0 } }) }
}

export function isSameClaimed(a: Claimed, b: Claimed): boolean {
  return CLAIMED_FIELDS.every(field => isSameValue(a[field], b[field]))
}

const isSameValue = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && typeof b === 'object' && isDeepStrictEqual(a, b))
