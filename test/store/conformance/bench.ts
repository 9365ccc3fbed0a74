import assert from 'node:assert/strict'
import { acknowledge, cancel, discard, edit, expire, redrive, reschedule } from '../../../src/core/job/changes.js'
import type { Job, StoredError } from '../../../src/core/job/job.js'
import type { Transition } from '../../../src/core/job/lifecycle.js'
import type { Clock, Timer } from '../../../src/core/values/clock.js'
import type {
  Changed,
  Claimed,
  ClaimRequest,
  Following,
  JobEdit,
  JobFilter,
  Lease,
  NewJob,
  PageRequest,
  RedriveOptions,
  RunEnd,
  RunTime,
  Settled,
  Settlement,
  Store,
} from '../../../src/store/store.js'

export type Open = (clock: Clock) => Promise<Store>

/**
 * Runs a statement directly on the database of the store that was opened last: `@` stands before a table, and each `?`
 * is an id. Only for stores with the tables of the built-in SQL stores; other stores leave it out.
 */
export type Sql = (text: string, ...ids: readonly string[]) => Promise<void>

/** A clock that only tests advance. */
export class TestClock implements Clock {
  #now = Date.UTC(2026, 0, 1)
  readonly #timers = new Set<{ at: number; run: () => void }>()

  now(): number {
    return this.#now
  }

  advance(ms: number): void {
    this.#now += ms
    for (const timer of [...this.#timers]) {
      if (timer.at > this.#now) continue
      this.#timers.delete(timer)
      timer.run()
    }
  }

  timer(ms: number, run: () => void): Timer {
    const timer = { at: this.#now + ms, run }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  soon(run: () => void): void {
    setImmediate(run)
  }
}

export const LEASE_MS = 30_000

/** A store with short forms of its operations. Every test gets a new one. */
export class Bench {
  readonly #open: Open
  #count = 0
  #store: Store | undefined
  clock = new TestClock()
  readonly sql: Sql | undefined

  constructor(open: Open, sql?: Sql) {
    this.#open = open
    this.sql = sql
  }

  get store(): Store {
    return this.#store!
  }

  async open(): Promise<void> {
    this.#count = 0
    this.clock = new TestClock()
    this.#store = await this.#open(this.clock)
    await this.#store.migrate()
  }

  async close(): Promise<void> {
    await this.#store?.close()
  }

  now(): number {
    return this.clock.now()
  }

  id(): string {
    this.#count += 1
    return uuid(this.#count)
  }

  /** 128 bits in hex, different for every call. */
  token(): string {
    this.#count += 1
    return this.#count.toString(16).padStart(32, '0')
  }

  job(given: Partial<NewJob> = {}): NewJob {
    return {
      id: this.id(),
      name: 'send-mail',
      queue: 'default',
      priority: 5,
      delivery: 'at-least-once',
      payload: '{}',
      runAt: { delayMs: 0 },
      tags: [],
      ...given,
    }
  }

  /** Enqueues one job and returns its id. */
  async add(given: Partial<NewJob> = {}): Promise<string> {
    const [answer] = await this.store.enqueue([this.job(given)])
    return answer!.id
  }

  async addMany(count: number, given: Partial<NewJob> = {}): Promise<string[]> {
    const answers = await this.store.enqueue(Array.from({ length: count }, () => this.job(given)))
    return answers.map(({ id }) => id)
  }

  request(given: Partial<ClaimRequest> = {}): ClaimRequest {
    return {
      workerId: 'worker-1',
      token: this.token(),
      queues: ['default'],
      limit: 100,
      leaseMs: LEASE_MS,
      policyIds: {},
      ...given,
    }
  }

  async claim(given: Partial<ClaimRequest> = {}): Promise<readonly Claimed[]> {
    return (await this.store.claim(this.request(given))).jobs
  }

  async claimOne(given: Partial<ClaimRequest> = {}): Promise<Claimed> {
    const jobs = await this.claim({ limit: 1, ...given })
    assert.equal(jobs.length, 1)
    return jobs[0]!
  }

  /** A new job that runs. */
  async running(given: Partial<NewJob> = {}, request: Partial<ClaimRequest> = {}): Promise<Claimed> {
    const id = await this.add(given)
    const job = await this.claimOne({ queues: [given.queue ?? 'default'], ...request })
    assert.equal(job.id, id)
    return job
  }

  settlement(job: Claimed, end: RunEnd, given: Partial<Settlement> = {}): Settlement {
    return {
      lease: leaseOf(job),
      generation: job.generation,
      run: job.run,
      attempt: job.attempt,
      workerId: job.workerId,
      queue: job.queue,
      name: job.name,
      ...(job.tenantId !== undefined && { tenantId: job.tenantId }),
      startedAt: job.startedAt ?? 0,
      finishedAt: this.now(),
      end,
      ...given,
    }
  }

  async settle(job: Claimed, end: RunEnd, given: Partial<Settlement> = {}): Promise<Settled> {
    const [answer] = await this.store.settle([this.settlement(job, end, given)])
    return answer!
  }

  async get(id: string): Promise<Job> {
    const job = await this.store.get(id)
    assert(job, `no job ${id}`)
    return job
  }

  /** The ids of the jobs that match a filter, in the order of the list. */
  async listed(filter: JobFilter, page: Partial<PageRequest> = {}): Promise<string[]> {
    const { data } = await this.store.list(filter, { limit: 1000, ...page })
    return data.map(({ id }) => id)
  }

  async history(id: string) {
    return (await this.store.history(id, { limit: 1000 })).data
  }

  async logs(id: string) {
    return (await this.store.logs(id, { limit: 5000 })).data
  }

  // ---------------------------------------------------------------- changes, by their rules

  cancel(ids: readonly string[], following?: Following): Promise<readonly Changed[]> {
    return this.store.change(ids, cancel, following)
  }

  acknowledge(ids: readonly string[]): Promise<readonly Changed[]> {
    return this.store.change(ids, acknowledge)
  }

  discard(ids: readonly string[], following?: Following): Promise<readonly Changed[]> {
    return this.store.change(ids, discard, following)
  }

  redrive(ids: readonly string[], options?: RedriveOptions): Promise<readonly Changed[]> {
    return this.store.change(ids, redrive(options))
  }

  async reschedule(id: string, at: RunTime): Promise<Changed> {
    return (await this.store.change([id], reschedule(at)))[0]!
  }

  async edit(id: string, asked: JobEdit): Promise<Changed> {
    return (await this.store.change([id], edit(asked)))[0]!
  }

  /** The jobs that died of their deadline. */
  async expireDeadlines(limit: number, following?: Following): Promise<readonly Job[]> {
    const changed = await this.store.change(await this.store.overdue(limit), expire, following)
    return changed.flatMap(one => (one.status === 'changed' ? [one.job] : []))
  }

  /** A job that ended in the given way. */
  async ended(end: RunEnd, given: Partial<NewJob> = {}): Promise<string> {
    const job = await this.running(given)
    assert.equal((await this.settle(job, end)).status, 'settled')
    return job.id
  }
}

export function uuid(number: number): string {
  return `01890000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
}

export function leaseOf(job: Claimed): Lease {
  return { id: job.id, token: job.token }
}

// ---------------------------------------------------------------- ends of a run

export const BOOM: StoredError = {
  name: 'Error',
  message: 'boom',
  code: 'ECONNRESET',
  status: 503,
  stack: 'Error: boom',
}

type Ended = Extract<RunEnd, { kind: 'ended' }>

function ended(transition: Partial<Transition>, more: Partial<Ended> = {}): Ended {
  return {
    kind: 'ended',
    transition: {
      status: 'succeeded',
      to: 'succeeded',
      delayMs: 0,
      attemptBack: false,
      snoozes: 0,
      releases: 0,
      losses: 0,
      strikes: 0,
      suspect: false,
      decision: { action: 'succeed', why: 'succeeded at the first run' },
      ...transition,
    },
    ...more,
  }
}

export function succeeded(result?: string, transition: Partial<Transition> = {}): Ended {
  return ended(transition, result === undefined ? {} : { result })
}

export function retry(delayMs: number, transition: Partial<Transition> = {}, error: StoredError = BOOM): Ended {
  const decision = { action: 'retry', why: 'retry 1 of 3', retry: 1, maxRetries: 3, delayMs } as const
  return ended({ status: 'failed', to: 'waiting', delayMs, decision, ...transition }, { error })
}

export function died(reason: Transition['reason'] = 'exhausted', transition: Partial<Transition> = {}): Ended {
  const decision = { action: 'die', why: 'no retry was left' } as const
  return ended({ status: 'failed', to: 'dead', ...(reason && { reason }), decision, ...transition }, { error: BOOM })
}

export function snoozed(delayMs: number, transition: Partial<Transition> = {}): Ended {
  const decision = { action: 'wait', why: 'snoozed' } as const
  const back = { status: 'snoozed', to: 'waiting', delayMs, attemptBack: true, snoozes: 1, decision } as const
  return ended({ ...back, ...transition }, { note: 'not yet' })
}

export function cancelled(): Ended {
  const decision = { action: 'cancel', why: 'was asked to stop' } as const
  return ended({ status: 'cancelled', to: 'cancelled', decision })
}

export function lost(transition: Partial<Transition> = {}): Ended {
  const decision = { action: 'wait', why: 'its worker is gone' } as const
  const back = { status: 'lost', to: 'waiting', attemptBack: true, losses: 1, suspect: true, decision } as const
  return ended({ ...back, ...transition })
}

export function handedBack(delayMs = 0): RunEnd {
  return { kind: 'handed-back', delayMs }
}

/** Text that databases and drivers tend to change. */
export const STRANGE_TEXTS: [name: string, text: string][] = [
  ['a NUL', 'a\u0000b'],
  ['only a NUL', '\u0000'],
  ['a lone high surrogate', 'x\ud83dy'],
  ['a lone low surrogate at its end', 'x\udc00'],
  ['characters beyond the first plane', 'fin 🎉 𝒳'],
  ['combining marks', 'e\u0301 ≠ é'],
  ['control characters', '\u0001\u0002\u001b[31m\r\n\t'],
  ['quotes and backslashes', `'"\\\\u0000 ; DROP TABLE jobs --`],
  ['a byte-order mark', '\ufefftext'],
  ['space at both ends', '  padded '],
]

export const ANY_TEXTS: [name: string, text: string][] = [['nothing', ''], ...STRANGE_TEXTS]
