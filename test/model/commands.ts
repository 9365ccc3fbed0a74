import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { acknowledge, cancel, discard, expire, redrive, reschedule } from '../../src/core/job/changes.js'
import type { DeathReason, Job, RunStatus } from '../../src/core/job/job.js'
import type { Transition } from '../../src/core/job/lifecycle.js'
import { present } from '../../src/core/values/present.js'
import type {
  Changed,
  Claimed,
  ClaimRequest,
  DeferRequest,
  JobChange,
  JobFilter,
  NewJob,
  RedriveOptions,
  Report,
  RunTime,
  Settlement,
  Store,
} from '../../src/store/store.js'
import { type Arguments, foretell, isSameAnswer, type Verb } from '../simulation/verbs.js'
import { type StoreModel, shown } from './model.js'

/** The reference model and the caller's memory: the caller may use every id and token again, long after it expired. */
export interface Reference {
  readonly model: StoreModel
  readonly sent: NewJob[]
  readonly claims: ClaimRequest[]
  readonly leases: Claimed[]
  count: number
}

export interface Subject {
  readonly store: Store
  readonly clock: { ms: number }
}

export type Command = fc.AsyncCommand<Reference, Subject>

/** Calls both; the results must be equal, and so must everything that can be read afterwards. */
class Call<Input> implements Command {
  readonly #name: string
  readonly #input: Input
  readonly #act: (input: Input, reference: Reference, subject: Subject) => Promise<void>

  constructor(
    name: string,
    input: Input,
    act: (input: Input, reference: Reference, subject: Subject) => Promise<void>,
  ) {
    this.#name = name
    this.#input = input
    this.#act = act
  }

  check(): boolean {
    return true
  }

  async run(reference: Reference, subject: Subject): Promise<void> {
    await this.#act(this.#input, reference, subject)
    await compareAll(reference, subject)
  }

  toString(): string {
    return `${this.#name}(${JSON.stringify(this.#input)})`
  }
}

async function ask<V extends Verb>(
  reference: Reference,
  { store, clock }: Subject,
  verb: V,
  ...args: Arguments<V>
): Promise<Awaited<ReturnType<NonNullable<Store[V]>>>> {
  const expected = foretell(reference.model, verb, args, clock.ms)
  const answer = (await (store[verb] as (...args: Arguments<V>) => Promise<unknown>)(...args)) as never
  if (!isSameAnswer(verb, expected, answer)) differ(`${verb}(${JSON.stringify(args)})`, answer, expected)
  return answer
}

/** Compares the product's rule with the model's. */
async function change(
  { model }: Reference,
  { store, clock }: Subject,
  ids: readonly string[],
  decide: JobChange,
  expect: (model: StoreModel, id: string, now: number, index: number) => Changed,
): Promise<void> {
  const expected = ids.map((id, index) => expect(model, id, clock.ms, index))
  same(`change(${ids.join(', ')})`, await store.change(ids, decide), expected)
}

async function compareAll({ model }: Reference, { store }: Subject): Promise<void> {
  const { data } = await store.list({}, { limit: 200 })
  same('list', data, model.rows.map(shown).reverse())
  // An enqueue that only returned an existing job may or may not make its queue known.
  const queues = (await store.queues()).filter(one => model.queues.has(one.name) || one.paused || one.retry)
  same(
    'queues',
    queues,
    [...model.queues.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
  )
}

/** Checks that are too slow to run after every command. */
export async function compareRuns({ model }: Reference, { store }: Subject): Promise<void> {
  for (const row of model.rows) {
    const { job, attempts, logs } = row
    const history = await store.history(job.id, { limit: 200 })
    same(`history of ${job.id}`, history.data, attempts.map(({ record }) => record).reverse())
    const lines = [...logs.values()]
      .sort((a, b) => a.run - b.run || a.line - b.line)
      .map(({ line: _, ...rest }) => rest)
    same(`logs of ${job.id}`, (await store.logs(job.id, { limit: 200 })).data, lines)
    same('get', await store.get(job.id), shown(row))
  }
  const { queues } = await store.audit()
  for (const { queue: name, ledger, rows, idSum } of queues) {
    const count = (state: Job['state']) =>
      model.rows.filter(({ job }) => job.queue === name && job.state === state).length
    for (const state of STATES) same(`${state} jobs of ${name}`, rows[state], count(state))
    const there = STATES.reduce((sum, state) => sum + rows[state], 0)
    same(`ledger of ${name}`, [ledger.enqueued - ledger.removed, ledger.idSum], [there, idSum])
  }
}

function same(what: string, answer: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(answer, expected)) differ(what, answer, expected)
}

function differ(what: string, answer: unknown, expected: unknown): never {
  throw new Error(`${what}\n  answered ${JSON.stringify(answer)}\n  expected ${JSON.stringify(expected)}`)
}

// Input that may come from outside

const queue = fc.constantFrom('default', 'mail')
const ms = fc.oneof(fc.nat(50), fc.nat(5_000), fc.double({ min: 0, max: 400, noNaN: true }))
/** Chooses one of the things that the caller remembers. */
const which = fc.nat(1_000)
const pick = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)]

const runTime = (startAt: number): fc.Arbitrary<RunTime> =>
  fc.oneof(
    fc.record({ delayMs: ms }),
    fc.nat(20_000).map(later => ({ at: startAt + later })),
  )

const dependency = fc.constantFrom('g1', 'g2')

const throttled = fc.record({ value: fc.constantFrom('w1', 'w2'), forMs: fc.integer({ min: 1, max: 3_000 }) })
const replacement: fc.Arbitrary<NonNullable<NewJob['replacement']>> = fc.oneof(
  fc.constant({ mode: 'replace' as const }),
  fc.record({ mode: fc.constant('debounce' as const), forMs: fc.nat(3_000), maxWaitMs: fc.nat(9_000) }),
)

const newJob = (startAt: number): fc.Arbitrary<Omit<NewJob, 'id'>> =>
  fc
    .record(
      {
        name: fc.constantFrom('a', 'b'),
        queue,
        priority: fc.nat(9),
        delivery: fc.constantFrom('at-least-once', 'at-most-once'),
        payload: fc.constantFrom('{"n":1}', '{"n":2}', '"\\u0000 \\ud800"', `"${'long '.repeat(200)}"`),
        runAt: runTime(startAt),
        tags: fc.constantFrom([], ['x'], ['x', 'y']),
        deadline: runTime(startAt),
        timeoutMs: fc.constant(1_000),
        tenantId: fc.constantFrom('t1', 't2'),
        key: fc.constantFrom('k1', 'k2', 'k3'),
        unique: fc.constantFrom('u1', 'u2'),
        replacement,
        throttle: fc.option(throttled, { nil: undefined, freq: 1 }),
        override: fc.constant({ maxRetries: 1 }),
        policyId: fc.constantFrom('p1', 'p2'),
        dependency,
        fingerprint: fc.constantFrom('f1', 'f2'),
      },
      { requiredKeys: ['name', 'queue', 'priority', 'delivery', 'payload', 'runAt', 'tags'] },
    )
    .map(job => (job.key === undefined ? job : { ...job, payloadHash: `hash of ${job.payload.length}` }))
    // A throttled job has no `unique`, and a replacement needs one.
    .map(({ replacement: mode, throttle, unique, ...job }) => {
      if (throttle !== undefined) return { ...job, throttle }
      return { ...job, ...present({ unique, replacement: unique === undefined ? undefined : mode }) }
    })

const STATES: readonly Job['state'][] = ['waiting', 'running', 'succeeded', 'dead', 'cancelled']
const STATUSES: readonly RunStatus[] = ['succeeded', 'failed', 'timed-out', 'lost', 'snoozed', 'released', 'cancelled']
const REASONS: readonly DeathReason[] = ['exhausted', 'permanent', 'poison', 'unknown-outcome']

const transition: fc.Arbitrary<Transition> = fc
  .record({
    status: fc.constantFrom(...STATUSES),
    to: fc.constantFrom('waiting', 'waiting', 'succeeded', 'dead', 'cancelled'),
    reason: fc.constantFrom(...REASONS),
    delayMs: fc.nat(5_000),
    attemptBack: fc.boolean(),
    counters: fc.tuple(fc.nat(2), fc.nat(2), fc.nat(2), fc.nat(2)),
    suspect: fc.boolean(),
    backoffMs: fc.option(fc.nat(5_000), { nil: undefined }),
    failedAt: fc.option(fc.nat(5_000), { nil: undefined }),
    why: fc.constantFrom('succeeded at the first run', 'because'),
  })
  .map(({ counters: [snoozes, releases, losses, strikes], reason, backoffMs, failedAt, why, delayMs, ...rest }) => ({
    ...rest,
    ...{ snoozes, releases, losses, strikes },
    delayMs: rest.to === 'waiting' ? delayMs : 0,
    ...(rest.to === 'dead' && { reason }),
    ...present({ backoffMs, failedAt }),
    decision: { action: rest.to === 'succeeded' ? 'succeed' : rest.to === 'waiting' ? 'retry' : 'die', why },
  }))

const filter: fc.Arbitrary<JobFilter> = fc.record(
  {
    state: fc.oneof(state(), fc.array(state(), { minLength: 1, maxLength: 3 })),
    phase: fc.constantFrom('scheduled', 'queued', 'retrying', 'blocked'),
    queue,
    name: fc.constantFrom('a', 'b'),
    tenantId: fc.constantFrom('t1', 't2'),
    key: fc.constantFrom('k1', 'k2'),
    tag: fc.constantFrom('x', 'y'),
    reason: fc.constantFrom(...REASONS, 'expired', 'discarded'),
    fingerprint: fc.constantFrom('f1', 'f2', 'f3'),
    dependency,
    redriveId: fc.constantFrom('r1', 'r2'),
    acknowledged: fc.boolean(),
  },
  { requiredKeys: [] },
)

function state(): fc.Arbitrary<Job['state']> {
  return fc.constantFrom(...STATES)
}

const call = <Input>(
  name: string,
  input: fc.Arbitrary<Input>,
  act: (input: Input, reference: Reference, subject: Subject) => Promise<void>,
): fc.Arbitrary<Command> => input.map(value => new Call(name, value, act))

const spawned = (into: string, id: string): NewJob => ({
  ...{
    id,
    name: 'a',
    queue: into,
    priority: 5,
    delivery: 'at-least-once',
    payload: '1',
    runAt: { delayMs: 0 },
    tags: [],
  },
})

const idOf = (count: number): string => `019b0000-0000-7000-8000-${count.toString(16).padStart(12, '0')}`
const tokenOf = (count: number): string => count.toString(16).padStart(32, '0')

export function commandsFrom(startAt: number): fc.Arbitrary<Command>[] {
  return [...enqueues(startAt), ...leases(), ...ends(), ...byHand(startAt), ...rest()]
}

function enqueues(startAt: number): fc.Arbitrary<Command>[] {
  const jobs = fc.array(newJob(startAt), { minLength: 1, maxLength: 3 })
  const enqueue = call('enqueue', jobs, async (inputs, reference, subject) => {
    const batch = inputs.map((job): NewJob => ({ ...job, id: idOf(++reference.count) }))
    reference.sent.push(...batch)
    await ask(reference, subject, 'enqueue', batch)
  })
  const again = call('enqueue again', which, async (index, reference, subject) => {
    const job = pick(reference.sent, index)
    if (job) await ask(reference, subject, 'enqueue', [job])
  })
  return [enqueue, enqueue, again]
}

function leases(): fc.Arbitrary<Command>[] {
  const request = fc.record({
    workerId: fc.constantFrom('w1', 'w2', 'w2~2'),
    queues: fc.constantFrom(['default'], ['mail'], ['default', 'mail'], ['mail', 'mail', 'default']),
    limit: fc.nat(5),
    leaseMs: fc.constantFrom(1_000, 3_000),
    policyIds: fc.constantFrom({}, { 'default a': 'p1', 'mail b': 'p2' }),
  })
  const claim = call('claim', request, async (input, reference, subject) => {
    const whole: ClaimRequest = { ...input, token: tokenOf(++reference.count) }
    reference.claims.push(whole)
    reference.leases.push(...(await ask(reference, subject, 'claim', whole)).jobs)
  })
  const again = call('claim again', which, async (index, reference, subject) => {
    const one = pick(reference.claims, index)
    if (one) reference.leases.push(...(await ask(reference, subject, 'claim', one)).jobs)
  })
  const begin = call('begin', fc.tuple(which, fc.boolean()), async ([index, once], reference, subject) => {
    const lease = pick(reference.leases, index)
    if (!lease) return
    const { id, token } = lease
    await ask(reference, subject, 'begin', [{ id, token, ...(once && { delivery: 'at-most-once' as const }) }])
  })
  const extend = call('extend', fc.tuple(which, fc.nat(4_000)), async ([index, leaseMs], reference, subject) => {
    const held = [pick(reference.leases, index), pick(reference.leases, index + 1)].flatMap(one => one ?? [])
    await ask(reference, subject, 'extend', held, leaseMs)
  })
  const said = fc.record({ which, lines: fc.nat(3), from: fc.option(fc.nat(4), { nil: undefined }), far: fc.boolean() })
  const report = call('report', said, async ({ which: index, lines, from, far }, reference, subject) => {
    const lease = pick(reference.leases, index)
    if (!lease) return
    const logs = Array.from({ length: lines }, (_, line) => ({ at: subject.clock.ms, message: `line ${line}` }))
    const one: Report = { lease, logs, ...(from !== undefined && { from }), ...(far && { progress: `${lines}` }) }
    await ask(reference, subject, 'report', [one])
  })
  return [claim, claim, claim, again, begin, extend, report]
}

function ends(): fc.Arbitrary<Command>[] {
  const input = fc.record({
    which,
    transition,
    handedBackMs: fc.option(fc.constantFrom(0, 700), { freq: 4, nil: undefined }),
    onlyIfExpired: fc.boolean(),
    ifBegun: fc.option(fc.boolean(), { nil: undefined }),
    error: fc.option(fc.constant({ name: 'Error', message: 'no' }), { nil: undefined }),
    note: fc.option(fc.constant('a note'), { nil: undefined }),
    result: fc.option(fc.constant('{"ok":true}'), { nil: undefined }),
    group: fc.option(fc.constantFrom('f1', 'f2', 'f3'), { nil: undefined }),
    dependency: fc.option(dependency, { nil: undefined }),
    pass: fc.option(fc.nat(3), { nil: undefined }),
    spawn: fc.option(fc.constantFrom('default', 'mail'), { freq: 6, nil: undefined }),
  })
  const settle = call('settle', input, async (asked, reference, subject) => {
    const lease = pick(reference.leases, asked.which)
    if (!lease) return
    const { handedBackMs, error, note, result, onlyIfExpired, ifBegun } = asked
    const { id, token, generation, run, attempt, workerId, queue: from, name, tenantId } = lease
    const end: Settlement['end'] =
      handedBackMs !== undefined
        ? { kind: 'handed-back', delayMs: handedBackMs }
        : {
            kind: 'ended',
            transition: asked.transition,
            ...(error && { error }),
            ...(note && { note }),
            ...(result && { result }),
            ...(asked.group && { group: { fingerprint: asked.group, title: 'it failed' } }),
            ...(asked.dependency && { dependency: asked.dependency }),
            ...(asked.pass !== undefined && { pass: asked.pass }),
            ...(asked.spawn && { spawn: [spawned(asked.spawn, idOf(++reference.count))] }),
          }
    const times = { startedAt: subject.clock.ms - 5, finishedAt: subject.clock.ms }
    const place = { queue: from, name, ...(tenantId !== undefined && { tenantId }) }
    const facts = { lease: { id, token }, generation, run, attempt, workerId, ...place, ...times, end }
    const swept = onlyIfExpired && { onlyIfExpired, ...(ifBegun !== undefined && { ifBegun }) }
    await ask(reference, subject, 'settle', [{ ...facts, ...swept }])
  })
  const expired = call('expired', fc.nat(3), async (workers, reference, subject) => {
    await ask(reference, subject, 'expired', { workers })
  })
  const expireOverdue = call('expire', fc.nat(3), async (limit, reference, subject) => {
    await change(reference, subject, await ask(reference, subject, 'overdue', limit), expire, (model, id, now) =>
      model.expire(id, now),
    )
  })
  const held = call('held', which, async (index, reference, subject) => {
    const lease = pick(reference.leases, index)
    if (lease) await ask(reference, subject, 'held', lease.token)
  })
  return [settle, settle, settle, settle, expired, expireOverdue, held]
}

const redriveOptions: fc.Arbitrary<RedriveOptions> = fc.record(
  { redriveId: fc.constantFrom('r1', 'r2'), delaysMs: fc.array(fc.nat(3_000), { maxLength: 2 }) },
  { requiredKeys: [] },
)

const deferRequest: fc.Arbitrary<DeferRequest> = fc.record(
  {
    dependency,
    from: fc.oneof(
      fc.nat(3_000).map(dueWithinMs => ({ dueWithinMs })),
      fc.nat(3).map(pass => ({ pass })),
    ),
    delaysMs: fc.array(fc.nat(3_000), { maxLength: 3 }),
    pass: fc.nat(3),
    retriesOnly: fc.boolean(),
    repeatableOnly: fc.boolean(),
    tenantId: fc.constantFrom(null, 't1', 't2'),
  },
  { requiredKeys: ['dependency', 'from', 'delaysMs', 'pass'] },
)

function byHand(startAt: number): fc.Arbitrary<Command>[] {
  const some = (index: number, { count }: Reference): string => idOf(count === 0 ? 0 : 1 + (index % count))
  const pair = fc.tuple(which, which)
  return [
    call('cancel', pair, async ([a, b], reference, subject) => {
      const ids = [some(a, reference), some(b, reference)]
      await change(reference, subject, ids, cancel, (model, id, now) => model.cancel(id, now))
    }),
    call('redrive', fc.tuple(pair, redriveOptions), async ([[a, b], options], reference, subject) => {
      const { redriveId, delaysMs = [] } = options
      const ids = [some(a, reference), some(b, reference)]
      await change(reference, subject, ids, redrive(options), (model, id, now, index) =>
        model.redrive(id, redriveId, delaysMs[index] ?? 0, now),
      )
    }),
    call('acknowledge', pair, async ([a, b], reference, subject) => {
      const ids = [some(a, reference), some(b, reference)]
      await change(reference, subject, ids, acknowledge, (model, id, now) => model.acknowledge(id, now))
    }),
    call('discard', pair, async ([a, b], reference, subject) => {
      const ids = [some(a, reference), some(b, reference)]
      await change(reference, subject, ids, discard, (model, id, now) => model.discard(id, now))
    }),
    call('defer', fc.tuple(deferRequest, fc.option(which)), async ([request, except], reference, subject) => {
      const exceptId = except === null ? {} : { exceptId: some(except, reference) }
      await ask(reference, subject, 'defer', { ...request, ...exceptId })
    }),
    call('reschedule', fc.tuple(which, runTime(startAt)), async ([index, at], reference, subject) => {
      await change(reference, subject, [some(index, reference)], reschedule(at), (model, id, now) =>
        model.reschedule(id, at, now),
      )
    }),
    call('remove', which, async (index, reference, subject) => {
      await ask(reference, subject, 'remove', [some(index, reference)])
    }),
    call('setQueue', fc.tuple(queue, fc.boolean(), fc.option(fc.nat(3))), async ([name, paused, retries], ...both) => {
      await ask(...both, 'setQueue', name, { paused, retry: retries === null ? null : { maxRetries: retries } })
    }),
  ]
}

function rest(): fc.Arbitrary<Command>[] {
  const advance = call(
    'advance',
    fc.oneof(fc.nat(500), fc.nat(6_000), fc.constant(90_000_000)),
    async (passed, _, subject) => {
      subject.clock.ms += passed
    },
  )
  const ages = fc.record(
    { succeeded: fc.nat(5_000), dead: fc.nat(5_000), cancelled: fc.nat(5_000) },
    { requiredKeys: [] },
  )
  const prune = call('prune', fc.tuple(ages, fc.nat(3)), async ([olderThanMs, limit], reference, subject) => {
    await ask(reference, subject, 'prune', { olderThanMs, keyMs: 10_000, limit })
  })
  const effect = fc.tuple(which, fc.constantFrom('e1', 'e2'), fc.boolean())
  const effects = call('effect', effect, async ([index, name, done], reference, subject) => {
    const lease = pick(reference.leases, index)
    if (!lease) return
    if (done) await ask(reference, subject, 'endEffect', lease, name, `"${index}"`)
    else await ask(reference, subject, 'beginEffect', lease, name)
  })
  const search = call(
    'search',
    fc.tuple(filter, fc.integer({ min: 1, max: 5 })),
    async ([wanted, cap], reference, subject) => {
      const { store, clock } = subject
      const found = reference.model.list(wanted, clock.ms)
      same('list', (await store.list(wanted, { limit: 200 })).data, found)
      const relation = found.length > cap ? 'at-least' : 'exact'
      same('count', await store.count(wanted, cap), { value: Math.min(cap, found.length), relation })
    },
  )
  const fold = call('fold', fc.nat(5), async (limit, _, { store }) => {
    await store.fold(limit)
  })
  return [advance, advance, advance, prune, effects, search, fold]
}
