import { describe, expect, it } from 'vitest'
import { type ExplainFacts, explain } from '../../../src/core/job/explain.js'
import type { Job, JobFacts } from '../../../src/core/job/job.js'
import { decide, type Outcome } from '../../../src/core/job/lifecycle.js'
import { outlookOf } from '../../../src/core/job/projection.js'
import type { AttemptFacts } from '../../../src/core/job/view.js'
import type { Policy } from '../../../src/core/policy/policy.js'

const NOW = Date.UTC(2026, 0, 1, 12)
const SECOND = 1_000
const MINUTE = 60_000

const policy: Policy = { maxRetries: 3, backoff: { type: 'exponential', base: '1m' }, jitter: 0.2, cap: '1h' }

const base: Job = {
  id: 'j',
  name: 'charge-card',
  queue: 'payments',
  priority: 5,
  delivery: 'at-least-once',
  payload: '{}',
  tags: [],
  state: 'waiting',
  runAt: NOW,
  createdAt: NOW - 10 * MINUTE,
  generation: 1,
  run: 0,
  attempt: 0,
  snoozes: 0,
  releases: 0,
  losses: 0,
  strikes: 0,
  suspect: false,
  begun: false,
  cancelRequested: false,
}

const refused: Outcome = {
  kind: 'failed',
  error: { name: 'Error', message: 'connect ECONNREFUSED 10.0.0.1:443', code: 'ECONNREFUSED' },
  classification: { kind: 'transient', rule: 'built-in: ECONNREFUSED' },
}

/** A run that began a minute ago and ended at once, and the job after it, as `decide` decides it. */
function ran(
  outcome: Outcome,
  job: Partial<Job> = {},
  more: Partial<ExplainFacts> & { readonly policy?: Policy } = {},
): ExplainFacts {
  const at = NOW - MINUTE
  const began: Job = { ...base, run: 1, attempt: 1, state: 'running', firstStartedAt: at, ...job }
  const facts: JobFacts = { ...began, policy: more.policy ?? policy }
  const { to, reason, delayMs, attemptBack, decision, status } = decide(facts, outcome, at, () => 0.5)
  const runAt = to === 'waiting' ? at + delayMs : began.runAt
  const attempt: AttemptFacts = {
    generation: began.generation,
    run: began.run,
    attempt: began.attempt,
    status,
    startedAt: at - 1_500,
    finishedAt: at,
    workerId: 'w',
    ...('error' in outcome && { error: outcome.error }),
    ...('note' in outcome && outcome.note !== undefined && { note: outcome.note }),
    ...(to === 'waiting' && { delayMs, nextRunAt: runAt }),
    decision,
  }
  const now: Job = {
    ...began,
    state: to,
    runAt,
    attempt: attemptBack ? began.attempt - 1 : began.attempt,
    ...(to !== 'waiting' && { finishedAt: at }),
    ...(reason && { reason }),
  }
  return { job: now, policy, now: NOW, attempts: [attempt], ...more }
}

const waiting = (job: Partial<Job> = {}, more: Partial<ExplainFacts> = {}): ExplainFacts => ({
  job: { ...base, ...job },
  policy,
  now: NOW,
  attempts: [],
  ...more,
})
const dependency = (facts: Omit<NonNullable<ExplainFacts['dependency']>, 'key'>) => ({
  dependency: { key: 'api.bank.example', ...facts },
})

interface Row {
  readonly is: string
  readonly facts: ExplainFacts
  readonly because?: string
  readonly until?: number
  readonly summary: string
}

// biome-ignore format: a table reads best with one row per line
const ROWS: readonly Row[] = [
  { is: 'not due yet', facts: waiting({ runAt: NOW + 15 * MINUTE }), because: 'scheduled', until: NOW + 15 * MINUTE, summary: 'Waiting: it is scheduled to run in 15m (2026-01-01T12:15:00.000Z).' },
  { is: 'just due', facts: waiting(), because: 'due', summary: 'Waiting: it is due, and waits for a worker with a free slot.' },
  { is: 'due for a while', facts: waiting({ runAt: NOW - 2 * MINUTE }, { workers: { forQueue: 2, forName: 1 } }), because: 'due', summary: 'Waiting: it has been due for 2m, and waits for a worker with a free slot.' },
  { is: 'no worker for its queue', facts: waiting({ runAt: NOW - 2 * MINUTE }, { workers: { forQueue: 0, forName: 0 } }), because: 'no-worker', summary: 'Waiting: it has been due for 2m, but no worker is alive for its queue "payments".' },
  { is: 'no worker knows its name', facts: waiting({ runAt: NOW - 2 * MINUTE }, { workers: { forQueue: 3, forName: 0 } }), because: 'no-handler', summary: 'Waiting: it has been due for 2m, but no worker of its queue knows the job "charge-card".' },
  { is: 'its queue is paused', facts: waiting({}, { queue: { paused: true }, workers: { forQueue: 0, forName: 0 } }), because: 'queue-paused', summary: 'Waiting: its queue "payments" is paused until an operator resumes it.' },
  { is: 'its queue is paused, and its time has not come', facts: waiting({ runAt: NOW + 5 * SECOND }, { queue: { paused: true } }), because: 'queue-paused', summary: 'Waiting: its queue "payments" is paused until an operator resumes it; otherwise, it is scheduled to run in 5s (2026-01-01T12:00:05.000Z).' },
  { is: 'waiting for its retry', facts: ran(refused, { attempt: 2, run: 2 }), because: 'retry', until: NOW + MINUTE, summary: 'Waiting: retry 2 of 3 comes in 1m (2026-01-01T12:01:00.000Z).' },
  { is: 'asked to wait by the other side', facts: ran({ ...refused, retryAfterMs: 10 * MINUTE } as Outcome), because: 'retry-after', until: NOW - MINUTE + 10 * MINUTE, summary: 'Waiting: retry 1 of 3 comes in 9m (2026-01-01T12:09:00.000Z), since the other side asked for 10m.' },
  { is: 'its retry was moved by an operator', facts: { ...ran(refused), job: { ...ran(refused).job, runAt: NOW + 5 * MINUTE } }, because: 'retry', until: NOW + 5 * MINUTE, summary: 'Waiting: retry 1 of 3 comes in 5m (2026-01-01T12:05:00.000Z), a time that was set manually.' },
  { is: 'snoozed', facts: ran({ kind: 'snoozed', delayMs: 90 * SECOND, note: 'not in stock' }), because: 'snoozed', until: NOW + 30 * SECOND, summary: 'Waiting: its handler asked to run again in 30s (2026-01-01T12:00:30.000Z): not in stock.' },
  { is: 'its circuit is open', facts: waiting({}, dependency({ state: 'open', openUntil: NOW + 20 * SECOND, reason: '23 of 25 calls failed' })), because: 'circuit-open', until: NOW + 20 * SECOND, summary: 'Waiting: the circuit of "api.bank.example" is open (23 of 25 calls failed); it is tried again in 20s (2026-01-01T12:00:20.000Z).' },
  { is: 'its circuit was opened by an operator', facts: waiting({}, dependency({ state: 'open', forced: true, reason: 'maintenance' })), because: 'circuit-open', summary: 'Waiting: the circuit of "api.bank.example" was opened manually (maintenance).' },
  { is: 'waiting behind an open circuit', facts: { ...ran(refused, {}, dependency({ state: 'open', openUntil: NOW + 20 * SECOND })), job: { ...ran(refused).job, runAt: NOW + 40 * SECOND, pass: 2 } }, because: 'circuit-open', until: NOW + 40 * SECOND, summary: 'Waiting: the circuit of "api.bank.example" is open; it is tried again in 20s (2026-01-01T12:00:20.000Z).' },
  { is: 'held back before its first run', facts: waiting({ runAt: NOW + 40 * SECOND, pass: 2 }, dependency({ state: 'open', openUntil: NOW + 20 * SECOND })), because: 'circuit-open', until: NOW + 40 * SECOND, summary: 'Waiting: the circuit of "api.bank.example" is open; it is tried again in 20s (2026-01-01T12:00:20.000Z).' },
  { is: 'in a slot of a dependency that has recovered', facts: waiting({ runAt: NOW + 4 * SECOND, pass: 2, dependency: 'api.bank.example' }, dependency({ state: 'closed' })), because: 'circuit-ramping', until: NOW + 4 * SECOND, summary: 'Waiting: "api.bank.example" gets its jobs a few at a time; it may start in 4s (2026-01-01T12:00:04.000Z).' },
  { is: 'its circuit is probing', facts: waiting({}, dependency({ state: 'half-open' })), because: 'circuit-probing', summary: 'Waiting: one job probes whether "api.bank.example" has recovered.' },
  { is: 'its circuit has just closed', facts: waiting({}, dependency({ state: 'ramping' })), because: 'circuit-ramping', summary: 'Waiting: "api.bank.example" has just recovered, and gets its jobs a few at a time.' },
  { is: 'the other side asked to wait', facts: waiting({}, dependency({ state: 'closed', notBefore: NOW + 12 * SECOND })), because: 'not-before', until: NOW + 12 * SECOND, summary: 'Waiting: "api.bank.example" is throttled; it may start in 12s (2026-01-01T12:00:12.000Z).' },
  { is: 'deferred by the budget', facts: ran({ kind: 'deferred', delayMs: 70 * SECOND, note: 'the retry budget is used up', by: 'budget' }, { attempt: 2, run: 2 }), because: 'budget', until: NOW + 10 * SECOND, summary: 'Waiting: it was held back and may start in 10s (2026-01-01T12:00:10.000Z): the retry budget is used up.' },
  { is: 'over its budget', facts: waiting({ attempt: 1 }, { budget: { limited: true, nextAt: NOW + 3 * SECOND } }), because: 'budget', until: NOW + 3 * SECOND, summary: 'Waiting: its retry budget is used up, and first attempts go first; the next may start in 3s (2026-01-01T12:00:03.000Z).' },
  { is: 'a dependency that does not hold it back', facts: waiting({}, { ...dependency({ state: 'closed' }), budget: { limited: false }, queue: { paused: false } }), because: 'due', summary: 'Waiting: it is due, and waits for a worker with a free slot.' },

  { is: 'running', facts: waiting({ state: 'running', attempt: 1, startedAt: NOW - 12 * SECOND }), summary: 'Running for 12s: its first run.' },
  { is: 'running a retry', facts: waiting({ state: 'running', attempt: 3, startedAt: NOW - 12 * SECOND }), summary: 'Running for 12s: retry 2 of 3.' },
  { is: 'running, and asked to stop', facts: waiting({ state: 'running', attempt: 1, startedAt: NOW, cancelRequested: true }), summary: 'Running for 0ms: its first run, and asked to stop.' },
  { is: 'succeeded', facts: ran({ kind: 'succeeded' }), summary: 'Succeeded: at its first run, 9m after its enqueue.' },
  { is: 'succeeded at a retry', facts: ran({ kind: 'succeeded' }, { attempt: 3, run: 3 }), summary: 'Succeeded: at retry 2 of 3, 9m after its enqueue.' },
  { is: 'exhausted', facts: ran(refused, { attempt: 4, run: 4 }), summary: 'Dead (exhausted): all 3 retries used.' },
  { is: 'permanent', facts: ran({ ...refused, classification: { kind: 'permanent', rule: 'built-in: HTTP 404' } } as Outcome), summary: 'Dead (permanent): HTTP 404 is permanent (built-in).' },
  { is: 'failed, at most once', facts: ran(refused, { delivery: 'at-most-once', begun: true }), summary: 'Dead (failed): ECONNREFUSED, and an at-most-once job is not retried.' },
  { is: 'unknown', facts: ran({ kind: 'lost', alone: true }, { delivery: 'at-most-once', begun: true }), summary: 'Dead (unknown-outcome): its worker was lost; it may have been carried out, and is not run twice.' },
  { is: 'expired without a run', facts: waiting({ state: 'dead', reason: 'expired' }), summary: 'Dead (expired): its deadline passed before it could start.' },
  { is: 'discarded', facts: waiting({ state: 'dead', reason: 'discarded', attempt: 4 }), summary: 'Dead (discarded): it was discarded.' },
  { is: 'cancelled before it ran', facts: waiting({ state: 'cancelled' }), summary: 'Cancelled: it never ran.' },
  { is: 'cancelled later', facts: ran({ kind: 'cancelled' }, { attempt: 2, run: 2 }), summary: 'Cancelled: it was stopped after 2 attempts.' },
]

describe('explain', () => {
  it.each(ROWS)('says it in one sentence: $is', ({ facts, because, until, summary }) => {
    const explanation = explain(facts)
    expect(explanation.summary).toBe(summary)
    expect(explanation.waiting?.because).toBe(because)
    expect(explanation.waiting?.until).toBe(until === undefined ? undefined : new Date(until).toISOString())
  })

  it('says why the last failure was retried, in numbers, and what happens next', () => {
    expect(explain(ran(refused, { attempt: 2, run: 2 }))).toEqual({
      summary: 'Waiting: retry 2 of 3 comes in 1m (2026-01-01T12:01:00.000Z).',
      waiting: {
        because: 'retry',
        words: 'retry 2 of 3 comes in 1m (2026-01-01T12:01:00.000Z)',
        until: '2026-01-01T12:01:00.000Z',
      },
      last: {
        words:
          'Retry #1 failed after 1.5s: Error: connect ECONNREFUSED 10.0.0.1:443. It is retried: retry 2 of 3 in 2m: ECONNREFUSED is transient (built-in).',
        decision: expect.objectContaining({ action: 'retry', retry: 2, delayMs: 120_000 }),
      },
      next: {
        words:
          'If its next run fails, one retry is left, after 3m 12s to 4m 48s. It starts in 5m 48s (2026-01-01T12:05:48.000Z) at the latest, not counting the time that the runs take; if that fails too, it is dead.',
        at: '2026-01-01T12:01:00.000Z',
        latestAt: '2026-01-01T12:05:48.000Z',
      },
      dies: {
        words:
          'If nothing improves, it dies between 2026-01-01T12:04:12.000Z and 2026-01-01T12:05:48.000Z; the policy patient would last until 2026-01-04T08:31:00.000Z.',
        earliest: '2026-01-01T12:04:12.000Z',
        latest: '2026-01-01T12:05:48.000Z',
      },
      details: [
        'The failure is classified as transient by the built-in rule for ECONNREFUSED.',
        'The wait of 2m: exponential backoff gives 2m, jitter (±20 %) spreads it over 1m 36s to 2m 24s, drawn 0.5.',
        'A run that is lost in a crash uses an attempt (crashes: count).',
      ],
    })
  })

  const byRule = { kind: 'transient', rule: 'rule 2 (code ECONNREFUSED)', delayMs: 20 * SECOND } as const
  const custom: Policy = { ...policy, backoff: { type: 'custom', name: 'squares' } }

  // biome-ignore format: a table reads best with one row per line
  it.each<[string, ExplainFacts, readonly string[]]>([
    ['a rule and its delay', ran({ ...refused, classification: byRule } as Outcome, {}, { policy: { ...policy, jitter: 'none' } }), ['The failure is classified as transient by rule 2 (code ECONNREFUSED).', 'The wait of 20s: the rule gives 20s.']],
    ['the cap', ran(refused, { attempt: 3, run: 3 }, { policy: { ...policy, jitter: 'none', cap: '90s' } }), ['The wait of 1m 30s: exponential backoff gives 4m, the cap makes it 1m 30s.']],
    ['nothing known', ran({ ...refused, classification: { kind: 'transient', rule: 'default' } } as Outcome), ['The failure is classified as transient by default: retry unknown errors.']],
    ['the handler itself', ran({ ...refused, classification: { kind: 'permanent', rule: 'handler: PermanentError' } } as Outcome), ["The failure is classified as permanent by the handler itself (PermanentError)."]],
    ['a function of the worker', ran({ ...refused, customDelayMs: 5_000 } as Outcome, {}, { policy: custom }), ["The wait of 5s was computed by the worker's backoff function."]],
    ['Retry-After', ran({ ...refused, retryAfterMs: 10 * MINUTE } as Outcome), ['The other side asked to wait 10m, so it does.']],
    ['a Retry-After beyond the limit', ran({ ...refused, retryAfterMs: 72 * 60 * MINUTE } as Outcome), ['The other side asked to wait 3d; it waits 1d, the longest Retry-After that is honoured.']],
    ['a Retry-After that has no effect', ran({ ...refused, retryAfterMs: SECOND } as Outcome), ['The other side asked to wait 1s, which the backoff covers.']],
    ['its history', waiting({ generation: 2, snoozes: 3, losses: 2, strikes: 1, suspect: true }), ['It was started again: this is generation 2.', 'It was snoozed 3 times.', 'It was lost together with other jobs twice.', 'Its worker crashed once while it ran alone; after three times the job is dead (poison).', 'It is a suspect: it may have crashed its worker, so it runs apart from other jobs.']],
    ['forgiven crashes', waiting({ losses: 2 }, { policy: { ...policy, crashes: 'forgive' } }), ['It was lost together with other jobs twice, without using an attempt.', 'A run that is lost in a crash is free, up to ten times (crashes: forgive).']],
    ['crashes that count', waiting({ state: 'running', attempt: 1 }), ['A run that is lost in a crash uses an attempt (crashes: count).']],
    ['its limits', waiting({ deadline: NOW + MINUTE, firstStartedAt: NOW - MINUTE }, { policy: { ...policy, maxElapsed: '1h' } }), ['Its deadline is in 1m (2026-01-01T12:01:00.000Z).', 'No retry starts after 2026-01-01T12:59:00.000Z (maxElapsed).']],
    ['deferrals', ran({ kind: 'deferred', delayMs: 70 * SECOND, note: 'busy', by: 'ramp' }), ['It was deferred once recently, without using an attempt.']],
  ])('has details: %s', (_, facts, details) => {
    expect(explain(facts).details).toEqual(expect.arrayContaining([...details]))
  })

  const once = { delivery: 'at-most-once', begun: true } as const
  const list: Policy = { ...policy, jitter: 'none', backoff: { type: 'list', delays: ['5s', '7s'] } }

  // biome-ignore format: a table reads best with one row per line
  it.each<[string, ExplainFacts, string]>([
    ['a running job', waiting({ state: 'running', attempt: 1 }), 'If this run fails, 3 retries are left, the first after 48s to 1m 12s. The last of them starts in 8m 24s (2026-01-01T12:08:24.000Z) at the latest, not counting the time that the runs take; if that fails too, it is dead.'],
    ['the last run', waiting({ state: 'running', attempt: 4 }), 'If this run fails, it is dead: no retry is left after it.'],
    ['no retries', waiting({}, { policy: { ...policy, maxRetries: 0 } }), 'If its next run fails, it is dead: its policy has no retries.'],
    ['at most once', waiting(once), 'If its next run fails, it is dead: at most once means that it is not run twice.'],
    ['a list that ends', waiting({ attempt: 1 }, { policy: list }), 'If its next run fails, one retry is left, after 7s. It starts in 7s (2026-01-01T12:00:07.000Z) at the latest, not counting the time that the runs take; if that fails too, it is dead.'],
    ['a deadline', waiting({ deadline: NOW + MINUTE }), 'If its next run fails, 3 retries are left, the first after 48s to 1m 12s. The last of them starts in 1m (2026-01-01T12:01:00.000Z) at the latest, which is as far as its deadline lets it, not counting the time that the runs take; if that fails too, it is dead.'],
    ['no worker to run it', waiting({}, { workers: { forQueue: 0, forName: 0 } }), 'If it starts and fails, 3 retries are left, the first after 48s to 1m 12s. The last of them starts 8m 24s later at the latest, not counting the time that the runs take; if that fails too, it is dead.'],
    ['dead', ran(refused, { attempt: 4, run: 4 }), 'Nothing by itself. "retry" starts it again with all its attempts.'],
    ['unknown', ran({ kind: 'lost', alone: true }, once), 'Nothing by itself. "retry" starts it again with all its attempts. Check first whether it was carried out.'],
    ['over', ran({ kind: 'succeeded' }), 'Nothing: it has ended.'],
  ])('says what happens next: %s', (_, facts, words) => {
    expect(explain(facts).next?.words).toBe(words)
  })

  // biome-ignore format: a table reads best with one row per line
  it.each<[string, ExplainFacts, string]>([
    ['a timeout', ran({ kind: 'timed-out', error: { name: 'TimeoutError', message: 'too long' } }), 'The first run timed out after 1.5s: TimeoutError: too long. It is retried: retry 1 of 3 in 1m: the run timed out.'],
    ['the end', ran(refused, { attempt: 4, run: 4 }), 'Retry #3 failed after 1.5s: Error: connect ECONNREFUSED 10.0.0.1:443. It was not retried: all 3 retries used.'],
    ['a snooze', ran({ kind: 'snoozed', delayMs: 90 * SECOND, note: 'not in stock' }), 'The first run was snoozed after 1.5s. It cost no attempt: snoozed for 1m 30s: not in stock.'],
    ['a crash', ran({ kind: 'lost', alone: false }), 'The first run was lost with its worker after 1.5s. It is retried: retry 1 of 3 in 1m: its worker was lost with other jobs.'],
    ['a forgiven crash', ran({ kind: 'lost', alone: false }, {}, { policy: { ...policy, crashes: 'forgive' } }), 'The first run was lost with its worker after 1.5s. It cost no attempt: its worker was lost with other jobs, for an unknown reason.'],
    ['a release that counts', ran({ kind: 'released', note: 'the worker stopped' }, { releases: 20 }), 'The first run was handed back after 1.5s. It counts: handed back for the 21th time, which counts: the worker stopped.'],
    ['a release of a job without retries', ran({ kind: 'released', note: 'the worker stopped' }, { begun: true }, { policy: { ...policy, maxRetries: 0 } }), 'The first run was handed back after 1.5s. It was not retried: the worker stopped after the run had started, and a job without retries is not started again.'],
    ['a cancel', ran({ kind: 'cancelled' }), 'The first run was cancelled after 1.5s. It was not retried: it was asked to stop.'],
    ['a success', ran({ kind: 'succeeded' }, { attempt: 2 }), 'Retry #1 succeeded after 1.5s.'],
  ])('gives the outcome of the last run: %s', (_, facts, words) => {
    expect(explain(facts).last?.words).toBe(words)
  })

  it('says what reconcile found', () => {
    const at = NOW - MINUTE
    const began: Job = { ...base, ...once, state: 'running', attempt: 1, run: 1 }
    const { decision, status } = decide({ ...began, policy }, { kind: 'lost', alone: true }, at, () => 0.5, 'done')
    const run = { generation: 1, run: 1, attempt: 1, status, startedAt: at, finishedAt: NOW, workerId: 'w', decision }
    const explanation = explain(waiting({ ...began, state: 'succeeded', finishedAt: NOW }, { attempts: [run] }))
    expect(explanation.summary).toBe('Succeeded: reconcile found it done, 10m after its enqueue.')
    expect(explanation.last?.words).toBe(
      'The first run succeeded after 1m: its worker was lost, and reconcile found it done.',
    )
  })

  it('is readable for any facts', () => {
    const states = ['waiting', 'running', 'succeeded', 'dead', 'cancelled'] as const
    const reasons = ['exhausted', 'poison', 'blocked', 'gone', 'endpoint-disabled', 'too-old', undefined] as const
    for (const state of states) {
      for (const reason of reasons) {
        for (const attempt of [0, 1, 4, 9]) {
          for (const delivery of ['at-least-once', 'at-most-once'] as const) {
            const job = { state, attempt, delivery, runAt: NOW + attempt * SECOND, ...(reason && { reason }) }
            for (const one of [custom, list, { ...policy, maxElapsed: 1 }]) {
              const text = JSON.stringify(explain(waiting(job, { policy: one })))
              expect(text).not.toMatch(/undefined|NaN|null|Infinity|\[object/)
            }
          }
        }
      }
    }
  })
})

describe('the outlook', () => {
  it('is bounded by the first limit', () => {
    const job = { ...base, deadline: NOW + 5 * MINUTE, firstStartedAt: NOW - MINUTE, attempt: 1 }
    expect(outlookOf(job, { ...policy, maxElapsed: '3m' }, NOW)).toMatchObject({
      endedBy: 'maxElapsed',
      lastStartAt: NOW + 2 * MINUTE,
    })
    expect(outlookOf(job, { ...policy, maxElapsed: '3h' }, NOW)).toMatchObject({
      endedBy: 'deadline',
      lastStartAt: NOW + 5 * MINUTE,
    })
    expect(outlookOf({ ...base, attempt: 2 }, policy, NOW)).toEqual({
      retriesLeft: 1,
      windowMs: [192_000, 288_000],
      lastStartAt: NOW + 288_000,
    })
  })

  it('is the sum of the longest waits', () => {
    expect(outlookOf(base, policy, NOW).lastStartAt - NOW).toBe((60 + 120 + 240) * 1.2 * SECOND)
  })

  it('builds decorrelated jitter on the previous wait', () => {
    const wide: Policy = { ...policy, jitter: 'decorrelated' }
    const { windowMs } = outlookOf({ ...base, attempt: 1, backoffMs: 100 * SECOND }, wide, NOW)
    expect(windowMs).toEqual([60_000, 300_000])
  })
})
