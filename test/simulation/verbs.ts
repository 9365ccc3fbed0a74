import { isDeepStrictEqual } from 'node:util'
import type { Claimed, Store } from '../../src/store/store.js'
import type { StoreModel } from '../model/model.js'

/** Every method of a store that answers a promise. A new one does not compile until it is in the tables below. */
export type Verb = {
  [V in keyof Store]-?: NonNullable<Store[V]> extends (...args: never[]) => Promise<unknown> ? V : never
}[keyof Store]

export type Arguments<V extends Verb> = Parameters<Store[V]>
export type AnswerOf<V extends Verb> = Awaited<ReturnType<Store[V]>>

/**
 * How a call may be disturbed. `calm` never is. What carries its own ids or tokens (`again`) may be executed a second
 * time even long after its answer; the others only in the same moment.
 */
export const VERBS: Readonly<Record<Verb, 'calm' | 'once' | 'again'>> = {
  migrate: 'once',
  info: 'once',
  close: 'calm',
  enqueue: 'once',
  fire: 'once',
  claim: 'once',
  begin: 'again',
  extend: 'again',
  report: 'again',
  settle: 'again',
  expired: 'once',
  expireDeadlines: 'once',
  cancel: 'once',
  reschedule: 'once',
  edit: 'once',
  redrive: 'once',
  acknowledge: 'once',
  discard: 'once',
  remove: 'once',
  prune: 'once',
  park: 'once',
  get: 'once',
  list: 'once',
  count: 'once',
  liveSchedules: 'once',
  backlog: 'once',
  census: 'once',
  wave: 'once',
  tally: 'once',
  history: 'once',
  logs: 'once',
  queues: 'once',
  setQueue: 'once',
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
  readonly [V in Verb]?: (model: StoreModel, now: number, ...args: Arguments<V>) => AnswerOf<V>
}

const FORETOLD: Foretold = {
  enqueue: (model, now, jobs) => jobs.map(job => model.enqueue(job, now)),
  claim: (model, now, request) => model.claim(request, now),
  begin: (model, _now, requests) => requests.map(request => model.begin(request)),
  extend: (model, now, leases, leaseMs) => leases.map(lease => model.extend(lease, leaseMs, now)),
  report: (model, _now, reports) => reports.map(report => model.report(report)),
  settle: (model, now, settlements) => settlements.map(settlement => model.settle(settlement, now)),
  expired: (model, now, { workers }) => model.expired(workers, now),
  expireDeadlines: (model, now, limit) => model.expireDeadlines(limit, now),
  cancel: (model, now, ids) => ids.map(id => model.cancel(id, now)),
  reschedule: (model, now, id, at) => model.reschedule(id, at, now),
  redrive: (model, now, ids, { redriveId, delaysMs = [] } = {}) =>
    ids.map((id, index) => model.redrive(id, redriveId, delaysMs[index] ?? 0, now)),
  acknowledge: (model, now, ids) => ids.map(id => model.acknowledge(id, now)),
  discard: (model, now, ids) => ids.map(id => model.discard(id, now)),
  remove: (model, now, ids) => ids.map(id => model.remove(id, now)),
  prune: (model, now, request) => model.prune(request, now),
  park: (model, now, request) => model.park(request, now),
  setQueue: (model, _now, name, change) => model.setQueue(name, change),
  beginEffect: (model, _now, lease, name) => model.beginEffect(lease, name),
  endEffect: (model, _now, lease, name, result) => model.endEffect(lease, name, result),
}

/** Does to the model what the call does to the store; undefined for what only reads. */
export function foretell<V extends Verb>(
  model: StoreModel,
  verb: V,
  args: Arguments<V>,
  now: number,
): AnswerOf<V> | undefined {
  return FORETOLD[verb]?.(model, now, ...args)
}

const CLAIMED: Readonly<Record<keyof Claimed, true>> = {
  id: true,
  name: true,
  queue: true,
  priority: true,
  delivery: true,
  payload: true,
  tenantId: true,
  key: true,
  tags: true,
  override: true,
  policyId: true,
  timeoutMs: true,
  deadline: true,
  runAt: true,
  createdAt: true,
  firstStartedAt: true,
  startedAt: true,
  generation: true,
  run: true,
  attempt: true,
  snoozes: true,
  releases: true,
  losses: true,
  strikes: true,
  suspect: true,
  backoffMs: true,
  begun: true,
  cancelRequested: true,
  dependency: true,
  pass: true,
  fingerprint: true,
  webhook: true,
  trace: true,
  token: true,
  workerId: true,
  leaseUntil: true,
}
const CLAIMED_FIELDS = Object.keys(CLAIMED) as (keyof Claimed)[]

/**
 * A store may tell more about a claimed job than a worker needs, and less about when to come back. When a job that
 * has ended would have run interests nobody.
 */
export function isSameAnswer(verb: Verb, expected: unknown, answer: unknown): boolean {
  if (verb === 'settle') return isDeepStrictEqual(settledOf(expected), settledOf(answer))
  if (verb !== 'claim' && verb !== 'expired') return isDeepStrictEqual(expected, answer)
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

export function isSameClaimed(a: Claimed, b: Claimed): boolean {
  return CLAIMED_FIELDS.every(field => isSameValue(a[field], b[field]))
}

const isSameValue = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && typeof b === 'object' && isDeepStrictEqual(a, b))
