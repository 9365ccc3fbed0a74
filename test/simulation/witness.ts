import type { Job, JobState } from '../../src/core/job/job.js'
import type { Clock } from '../../src/core/values/clock.js'
import { DELIVERIES } from '../../src/core/webhook/delivery.js'
import type { RecordWrite } from '../../src/store/record.js'
import type { Changed, DeferRequest, Lease, NewJob, Settled, Settlement, Store } from '../../src/store/store.js'
import { StoreModel } from '../model/model.js'
import type { Coverage, Edge } from './coverage.js'
import type { End, Ledger } from './ledger.js'
import type { Trace } from './trace.js'
import { type AnswerOf, type Arguments, foretell, isSameAnswer, isSameClaimed, type Verb } from './verbs.js'
import type { Promised, Verdict } from './verdict.js'
import { DEFINED, type JobName } from './world/plan.js'
import { isOfNewerVersion, payloadOf } from './world/rolling.js'

/** A job before a change. */
interface Stand {
  readonly state: JobState
  readonly reason: Job['reason']
}

const NOTHING: ReadonlyMap<string, Stand> = new Map()

/** The effect of a change on a job. */
export type Deed = 'cancel' | 'reschedule' | 'redrive' | 'expire'

/** A change that a client requested and the store made. */
export interface Done {
  readonly by: string
  readonly deed: Deed
  readonly id: string
  readonly at: number
  /** A redrive of many jobs did it, which the process carries out by itself. */
  readonly byRedrive: boolean
}

/**
 * Observes every call to the real store in the order of execution. It keeps the reference model in step, so it knows
 * the correct response to each call, and the true state of every job whenever a handler starts.
 */
export class Witness {
  readonly model = new StoreModel()
  readonly done: Done[] = []
  /** The faults and their effects are over: every response arrives in time. */
  isCalm = false
  /** Whether a job was alone in its process when this process last looked for lost ones. */
  readonly #alone = new Map<string, boolean>()
  /** Writes whose response has not arrived yet, and the end of the last one by connection. */
  #writing = 0
  readonly #written = new Map<Store, Promise<void>>()
  /** How many writes have begun. */
  #writes = 0
  /** When each process last asked for work. */
  readonly claimedAt = new Map<string, number>()
  /** Called for every lease that a sweep has taken. */
  onSwept: (workerId: string, jobId: string) => void = () => {}
  onClaim: (workerId: string, by: string) => void = () => {}
  /** Called for every call that moves the waiting jobs of a dependency. */
  onDefer: (request: DeferRequest, by: string) => void = () => {}
  /** Called for every record that was written. */
  onRecord: (write: RecordWrite, by: string) => void = () => {}
  /** Called for every job that a redrive has started again. */
  onRedriven: (redriveId: string, jobId: string, reason: Job['reason']) => void = () => {}
  readonly #looks = new Set<(now: number) => void>()
  readonly #clock: Clock
  readonly #ledger: Ledger
  readonly #verdict: Verdict
  readonly #coverage: Coverage
  readonly #trace: Trace

  constructor(clock: Clock, ledger: Ledger, verdict: Verdict, coverage: Coverage, trace: Trace) {
    this.#clock = clock
    this.#ledger = ledger
    this.#verdict = verdict
    this.#coverage = coverage
    this.#trace = trace
  }

  async execute<V extends Verb>(
    by: string,
    store: Store,
    verb: V,
    args: Arguments<V>,
    fate = '',
  ): Promise<AnswerOf<V>> {
    if (verb === 'expired' || verb === 'overdue') {
      const answer = await this.#between(() => this.#ask(by, store, verb, args))
      return this.#heard(by, verb, args, fate, answer)
    }
    if (READS.has(verb)) return this.#heard(by, verb, args, fate, await this.#ask(by, store, verb, args))

    // Each store executes writes in the order of their calls, at once or batched in one commit.
    const before = this.#written.get(store)
    let done = (): void => {}
    const written = new Promise<void>(resolve => {
      done = resolve
    })
    this.#written.set(store, written)
    this.#writing++
    this.#writes++
    try {
      const follows = new Map<string, readonly NewJob[]>()
      const answer = await this.#ask(by, store, verb, noted(verb, args, follows))
      // A call before it may take several steps and be answered later.
      const at = this.#clock.now()
      await before
      return this.#heard(by, verb, args, fate, answer, at, follows)
    } finally {
      this.#writing--
      done()
    }
  }

  /** Resolves when the model has applied every write that the store has. */
  async upToDate(): Promise<void> {
    while (this.#writing > 0) await Promise.all(this.#written.values())
  }

  /** Looks at the model just before and just after each write, until the returned function is called. */
  watch(look: (now: number) => void): () => void {
    this.#looks.add(look)
    return () => this.#looks.delete(look)
  }

  #look(verb: Verb, now: number): void {
    if (!READS.has(verb)) for (const look of this.#looks) look(now)
  }

  /** Reads what is committed while no write begins, so that the model can tell the answer. */
  async #between<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      await this.upToDate()
      const before = this.#writes
      const answer = await read()
      if (this.#writes === before) return answer
    }
  }

  #heard<V extends Verb>(
    by: string,
    verb: V,
    args: Arguments<V>,
    fate: string,
    answer: AnswerOf<V>,
    now = this.#clock.now(),
    follows: ReadonlyMap<string, readonly NewJob[]> = new Map(),
  ): AnswerOf<V> {
    if (verb === 'claim') {
      this.claimedAt.set(by, now)
      this.onClaim((args as Arguments<'claim'>)[0].workerId, by)
    }
    if (verb === 'defer') this.onDefer((args as Arguments<'defer'>)[0], by)
    const before = verb === 'change' ? this.#stand((args as Arguments<'change'>)[0]) : NOTHING
    this.#look(verb, now)
    const expected = this.#foretell(verb, args, answer, now)
    this.#look(verb, now)
    if (expected !== undefined) this.#count(by, verb, args, expected)
    if (verb === 'change') {
      this.#countChanges(by, before, expected as AnswerOf<'change'>)
      // A refused or repeated change has no followers.
      for (const jobs of follows.values()) for (const job of jobs) this.model.enqueue(job, now)
    }
    this.#noteRecords(by, verb, args, answer)
    if (isWorthSaying(verb, answer) || fate !== '') {
      this.#trace.say(now, by, `${verb}${fate && ` (${fate})`}`, brief(verb, args, answer))
    }
    if (expected !== undefined && !isSameAnswer(verb, expected, answer)) {
      const promise = promiseBroken(this.model, verb, args, expected, answer)
      const seen = `${JSON.stringify(answer)} instead of ${JSON.stringify(expected)}`
      this.#verdict.broken(promise, `${by}: ${verb}(${JSON.stringify(args)}) was answered ${seen}`)
    }
    return answer
  }

  /** Which jobs of a queue with limits a claim takes is checked, not predicted. */
  #foretell<V extends Verb>(verb: V, args: Arguments<V>, answer: AnswerOf<V>, now: number): AnswerOf<V> | undefined {
    const [request] = args as Arguments<'claim'>
    if (verb !== 'claim' || !this.model.isLimited(request)) return foretell(this.model, verb, args, now)
    const { claim, flaws } = this.model.adopt(request, answer as AnswerOf<'claim'>, now)
    for (const { promise, what } of flaws) this.#verdict.broken(promise, what)
    const taken = claim.jobs.filter(({ lane }) => lane !== undefined).length
    if (taken > 0) this.#coverage.count('a partition took its turn', taken)
    return claim as AnswerOf<V>
  }

  /** All faults are in the network: the store itself has no reason to throw. */
  async #ask<V extends Verb>(by: string, store: Store, verb: V, args: Arguments<V>): Promise<AnswerOf<V>> {
    const call = store[verb] as (...args: Arguments<V>) => Promise<AnswerOf<V>>
    try {
      return await call.apply(store, args)
    } catch (error) {
      const said = error instanceof Error ? error.stack : String(error)
      this.#verdict.broken('the store answers as the reference does', `${by}: ${verb} threw ${said}`)
      throw error
    }
  }

  #count<V extends Verb>(by: string, verb: V, args: Arguments<V>, answer: AnswerOf<V>): void {
    if (verb === 'enqueue') this.#name(args as Arguments<'enqueue'>)
    if (verb === 'settle') {
      this.#noteSettled(args as Arguments<'settle'>, answer as AnswerOf<'settle'>)
      this.#checkCharges(by, args as Arguments<'settle'>, answer as AnswerOf<'settle'>)
      const [settlements] = args as Arguments<'settle'>
      for (const [index, { status }] of (answer as AnswerOf<'settle'>).entries()) {
        const { onlyIfExpired, workerId, lease } = settlements[index]!
        if (onlyIfExpired && status === 'settled') this.onSwept(workerId, lease.id)
      }
    }
    if (verb === 'expired') {
      for (const { id, run, alone } of (answer as AnswerOf<'expired'>).jobs)
        this.#alone.set(`${by} ${id} ${run}`, alone)
    }
    const count = COUNTS[verb]
    count?.({ model: this.model, coverage: this.#coverage, args, answer })
  }

  #stand(ids: readonly string[]): ReadonlyMap<string, Stand> {
    return new Map(
      ids.flatMap(id => {
        const job = this.model.row(id)?.job
        return job ? [[id, { state: job.state, reason: job.reason }] as const] : []
      }),
    )
  }

  #countChanges(by: string, stands: ReadonlyMap<string, Stand>, answer: AnswerOf<'change'>): void {
    for (const changed of answer) {
      const stand = stands.get(changed.id)
      const before = stand?.state
      const deed = before && deedOf(before, changed)
      if (!deed) continue
      const byRedrive = deed === 'redrive' && 'job' in changed && changed.job.redriveId !== undefined
      this.done.push({ by, deed, id: changed.id, at: this.#clock.now(), byRedrive })
      this.#noteChanged(deed, changed, stand?.reason)
      if (deed === 'redrive') this.#coverage.count(`${before} → waiting` as Edge)
      if (deed === 'expire') this.#coverage.count('waiting → dead (expired)')
      if (deed === 'cancel' && changed.status === 'changed') this.#coverage.count('waiting → cancelled')
    }
  }

  #name([jobs]: Arguments<'enqueue'>): void {
    for (const { id, payload, queue } of jobs) {
      if (queue !== DELIVERIES) this.#trace.name(id, `#${payloadOf(payload).ref}`)
    }
  }

  #noteRecords<V extends Verb>(by: string, verb: V, args: Arguments<V>, answer: AnswerOf<V>): void {
    if (verb !== 'putRecords' && verb !== 'fire') return
    const writes =
      verb === 'fire'
        ? (args as Arguments<'fire'>)[0].map(({ record }) => record)
        : (args as Arguments<'putRecords'>)[0]
    const answers = answer as AnswerOf<'putRecords'>
    for (const [index, write] of writes.entries()) if (answers[index]!.status === 'written') this.onRecord(write, by)
  }

  #noteSettled([settlements]: Arguments<'settle'>, answers: AnswerOf<'settle'>): void {
    for (const [index, { lease, end, finishedAt: at }] of settlements.entries()) {
      const settled = answers[index]!
      if (settled.status !== 'settled') continue
      const { id, generation, run } = this.model.row(lease.id)!.job
      const isRetry = end.kind === 'ended' && !end.transition.attemptBack
      if (settled.state === 'waiting' && isRetry)
        this.#ledger.ends.push({ id, generation, run, type: 'job.retrying', at })
      const type = ENDS[settled.state]
      if (type) this.#ledger.ends.push({ id, generation, run, type, at })
    }
  }

  #noteChanged(deed: Deed, changed: Changed, reason: Job['reason']): void {
    if (changed.status !== 'changed') return
    const { id, generation, run, state, redriveId } = changed.job
    if (deed === 'redrive' && redriveId !== undefined) this.onRedriven(redriveId, id, reason)
    const type = ENDS[state]
    if (type) this.#ledger.ends.push({ id, generation, run, type, at: this.#clock.now() })
  }

  /**
   * A lost run counts. It does not count if the job's policy forgives crashes and other jobs were lost with it, or if it
   * was the last permitted attempt and had not begun.
   */
  #checkCharges(by: string, [settlements]: Arguments<'settle'>, answers: AnswerOf<'settle'>): void {
    for (const [index, { lease, run, attempt, end, onlyIfExpired }] of settlements.entries()) {
      if (this.isCalm && end.kind === 'ended' && /lease/.test(end.note ?? '')) {
        this.#verdict.broken('a living worker keeps its leases', `${by}: run ${run} of ${lease.id}: ${end.note}`)
      }
      if (!onlyIfExpired || end.kind !== 'ended' || end.transition.attemptBack) continue
      const { job } = this.model.row(lease.id)!
      if (job.delivery === 'at-most-once') continue
      const defined = DEFINED[job.name as JobName]
      if (!defined) continue
      const { maxRetries, crashes } = { ...defined, ...job.override }
      const what = `${by} charges ${lease.id} for run ${run}`
      if (crashes !== 'forgive') {
        const hadBegun = answers[index]!.status !== 'settled' || job.begun || attempt <= maxRetries
        this.#verdict.expect(hadBegun, 'no job dies of a run that never started', () => what)
        continue
      }
      if (this.#alone.get(`${by} ${lease.id} ${run}`) === true || end.transition.losses > LOSSES_MAX) continue
      this.#verdict.broken('a forgiven crash costs no attempt', `${what}, lost with others`)
    }
  }
}

const ENDS: Readonly<Partial<Record<JobState, End['type']>>> = {
  succeeded: 'job.succeeded',
  dead: 'job.dead',
  cancelled: 'job.cancelled',
}

/** Notes the jobs that follow a change: their ids are random, so that the model can't know them. */
function noted<V extends Verb>(verb: V, args: Arguments<V>, follows: Map<string, readonly NewJob[]>): Arguments<V> {
  if (verb !== 'change') return args
  const [ids, decide, following] = args as Arguments<'change'>
  if (!following) return args
  const noting: typeof following = job => {
    const jobs = following(job)
    follows.set(job.id, jobs)
    return jobs
  }
  return [ids, decide, noting] as unknown as Arguments<V>
}

function deedOf(before: JobState, changed: Changed): Deed | undefined {
  if (changed.status === 'requested') return 'cancel'
  if (changed.status !== 'changed') return undefined
  const { state } = changed.job
  if (before !== 'waiting') return state === 'waiting' ? 'redrive' : undefined
  return state === 'cancelled' ? 'cancel' : state === 'dead' ? 'expire' : 'reschedule'
}

/** How often a job gets its attempt back when it was lost with others. */
const LOSSES_MAX = 10

interface Seen<V extends Verb> {
  readonly model: StoreModel
  readonly coverage: Coverage
  readonly args: Arguments<V>
  readonly answer: AnswerOf<V>
}

const COUNTS: { readonly [V in Verb]?: (seen: Seen<V>) => void } = {
  enqueue: ({ coverage, args: [jobs], answer }) => {
    for (const [index, { status }] of answer.entries()) {
      if (status === 'conflict') coverage.count('key conflict')
      else if (status === 'existing')
        coverage.count(jobs[index]!.key === undefined ? 'unique met a live job' : 'key enqueued again')
    }
  },
  claim: ({ coverage, answer }) => coverage.count('waiting → running', answer.jobs.length),
  begin: ({ model, coverage, args: [leases], answer }) => countRefused(model, coverage, leases, answer),
  extend: ({ model, coverage, args: [leases], answer }) => countRefused(model, coverage, leases, answer),
  report: ({ model, coverage, args: [reports], answer }) =>
    countRefused(
      model,
      coverage,
      reports.map(report => report.lease),
      answer,
    ),
  beginEffect: ({ model, coverage, args: [lease], answer: { status } }) => {
    countRefused(model, coverage, [lease], [status])
    if (status === 'done') coverage.count('effect remembered')
    if (status === 'begun') coverage.count('effect begun by a lost run')
  },
  endEffect: ({ model, coverage, args: [lease], answer }) => countRefused(model, coverage, [lease], [answer]),
  settle: ({ model, coverage, args: [settlements], answer }) => {
    for (const [index, settlement] of settlements.entries()) countSettled(model, coverage, settlement, answer[index]!)
  },
  setQueue: ({ coverage, answer }) => {
    if (answer.paused) coverage.count('queue paused')
  },
}

function countRefused(
  model: StoreModel,
  coverage: Coverage,
  leases: readonly Lease[],
  answers: readonly string[],
): void {
  for (const [index, lease] of leases.entries()) {
    if (answers[index] === 'lost' && wasSwept(model, lease)) coverage.count('zombie write refused')
  }
}

/** The refusal counts only if the sweeper ended this very lease. */
function wasSwept(model: StoreModel, { id, token }: Lease): boolean {
  return model.row(id)?.attempts.some(attempt => attempt.token === token && attempt.record.status === 'lost') ?? false
}

function countSettled(model: StoreModel, coverage: Coverage, settlement: Settlement, settled: Settled): void {
  const { end, lease, onlyIfExpired } = settlement
  if (settled.status === 'lost' && !onlyIfExpired) countRefused(model, coverage, [lease], ['lost'])
  if (settled.status !== 'settled') return
  const { payload, override } = model.row(lease.id)!.job
  if (end.kind === 'handed-back' && isOfNewerVersion(payload, override))
    coverage.count('job of a newer version handed back')
  coverage.count(edgeOf(end, settled.state))
  if (end.kind !== 'ended' || end.transition.status !== 'lost') return
  coverage.count('lease lost')
  if (end.transition.reason === 'unknown-outcome') coverage.count('at-most-once lost')
  if (end.transition.reason === 'poison') coverage.count('poison')
  if (end.transition.reason === 'exhausted') coverage.count('last attempt lost')
  if (end.transition.attemptBack && end.transition.losses === 0) coverage.count('lost before begin')
}

function edgeOf(end: Settlement['end'], state: string): Edge {
  if (state === 'cancelled' || state === 'succeeded') return `running → ${state}`
  if (end.kind === 'handed-back') return 'running → waiting (released before start)'
  const { status, reason } = end.transition
  if (state === 'dead') return `running → dead (${reason})` as Edge
  return status === 'failed' || status === 'timed-out'
    ? 'running → waiting (retry)'
    : (`running → waiting (${status})` as Edge)
}

/** The promise behind a wrong response. */
function promiseBroken<V extends Verb>(
  model: StoreModel,
  verb: V,
  args: Arguments<V>,
  expected: AnswerOf<V>,
  answer: AnswerOf<V>,
): Promised {
  const otherwise = 'the store answers as the reference does'
  switch (verb) {
    case 'claim':
      return claimBroken(model, expected as AnswerOf<'claim'>, answer as AnswerOf<'claim'>) ?? otherwise
    case 'settle': {
      const [settlements] = args as Arguments<'settle'>
      const [was, is] = [expected as AnswerOf<'settle'>, answer as AnswerOf<'settle'>]
      const at = was.findIndex((one, index) => one.status !== 'settled' && is[index]?.status === 'settled')
      const settlement = settlements[at]
      if (!settlement) return otherwise
      return settlement.onlyIfExpired && model.held(settlement.lease)
        ? 'a sweep takes only expired leases'
        : 'a worker without the lease writes nothing'
    }
    case 'enqueue': {
      const [jobs] = args as Arguments<'enqueue'>
      const [was, is] = [expected as AnswerOf<'enqueue'>, answer as AnswerOf<'enqueue'>]
      const at = was.findIndex((one, index) => one.status !== is[index]?.status)
      return jobs[at]?.key !== undefined ? 'a key is one job' : jobs[at]?.unique ? 'unique is one live job' : otherwise
    }
    default:
      return JSON.stringify(expected).includes('"lost"') ? 'a worker without the lease writes nothing' : otherwise
  }
}

function claimBroken(model: StoreModel, expected: AnswerOf<'claim'>, answer: AnswerOf<'claim'>): Promised | undefined {
  for (const job of answer.jobs) {
    const right = expected.jobs.find(({ id }) => id === job.id)
    if (right && isSameClaimed(right, job)) continue
    if (right) return right.attempt === job.attempt ? undefined : 'attempts are counted at the claim'
    const row = model.row(job.id)
    if (!row) return 'no job exists that no client enqueued'
    if (row.job.state === 'running') return 'each run has one lease holder'
    if (row.job.state !== 'waiting') return 'a terminal state changes only by redrive'
    if (model.queues.get(row.job.queue)?.paused) return 'a paused queue is not claimed'
    return 'a claim takes only jobs that are due'
  }
  return undefined
}

const READS: ReadonlySet<Verb> = new Set([
  ...(['info', 'get', 'list', 'count', 'history', 'logs', 'queues', 'policies', 'expired'] as const),
  'overdue',
  ...(['tally', 'records', 'audit', 'liveSchedules', 'backlog', 'census', 'wave', 'waiting'] as const),
])

const CHATTER: ReadonlySet<Verb> = new Set([
  ...(['migrate', 'info', 'queues', 'putPolicies', 'policies', 'prune'] as const),
  ...([
    'records',
    'putRecords',
    'fold',
    'audit',
    'tally',
    'liveSchedules',
    'backlog',
    'census',
    'wave',
    'waiting',
  ] as const),
  ...(['count', 'get', 'history', 'list'] as const),
])

function isWorthSaying(verb: Verb, answer: unknown): boolean {
  if (CHATTER.has(verb)) return false
  if (verb === 'extend') return (answer as AnswerOf<'extend'>).some(status => status !== 'held')
  const rows = Array.isArray(answer) ? answer : (answer as { jobs?: unknown[] } | undefined)?.jobs
  return rows === undefined || rows.length > 0
}

/** A call as a line of the trace. */
function brief(verb: Verb, args: readonly unknown[], answer: unknown): unknown {
  switch (verb) {
    case 'claim': {
      const { token } = (args as Arguments<'claim'>)[0]
      const { jobs } = answer as AnswerOf<'claim'>
      return { token, jobs: jobs.map(({ id, run, attempt }) => [id, `run ${run}`, `attempt ${attempt}`]) }
    }
    case 'held':
      return (answer as AnswerOf<'held'>).jobs.map(({ id, run }) => [id, `run ${run}`])
    case 'expired':
      return (answer as AnswerOf<'expired'>).jobs.map(({ id, run, alone }) => [id, `run ${run}`, { alone }])
    case 'settle':
      return (args as Arguments<'settle'>)[0].map(({ lease, run, end, onlyIfExpired }, index) => {
        const { status } = (answer as AnswerOf<'settle'>)[index]!
        const what = end.kind === 'ended' ? `${end.transition.status} → ${end.transition.to}` : end.kind
        const why = end.kind === 'ended' ? end.transition.decision.why : `in ${end.delayMs} ms`
        return [lease.id, lease.token, `run ${run}`, what, why, status, ...(onlyIfExpired ? ['if expired'] : [])]
      })
    case 'enqueue':
      return (args as Arguments<'enqueue'>)[0].map(({ id, key }, index) => [id, key, (answer as unknown[])[index]])
    case 'extend':
    case 'begin':
      return (args as Arguments<'begin'>)[0].map(({ id, token }, index) => [id, token, (answer as unknown[])[index]])
    case 'report':
      return (args as Arguments<'report'>)[0].map(({ lease, from, logs }, index) => {
        return [lease.id, `lines ${from}+${logs.length}`, (answer as unknown[])[index]]
      })
    case 'change':
      return (answer as AnswerOf<'change'>).map(({ id, status }) => [id, status])
    case 'fire':
      return (args as Arguments<'fire'>)[0].map(({ record, jobs }, index) => {
        return [record.kind, record.id, jobs.map(({ key }) => key), (answer as AnswerOf<'fire'>)[index]!.status]
      })
    default:
      return [args, answer]
  }
}
