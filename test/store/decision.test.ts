import { describe, expect, it } from 'vitest'
import type { JobFacts, StoredError } from '../../src/core/job/job.js'
import { decide, type Outcome } from '../../src/core/job/lifecycle.js'
import type { Policy } from '../../src/core/policy/policy.js'
import { fromDecision, toDecision } from '../../src/store/columns.js'

const error: StoredError = { name: 'Error', message: 'connection reset', code: 'ECONNRESET', stack: 'Error: …' }
const policy: Policy = { maxRetries: 3, backoff: { type: 'exponential', base: '1s' }, jitter: 'full', cap: '60s' }

function job(more: Partial<JobFacts> = {}): JobFacts {
  const counts = { snoozes: 0, releases: 0, losses: 0, strikes: 0 }
  const flags = { begun: false, suspect: false, cancelRequested: false }
  return { attempt: 1, delivery: 'at-least-once', firstStartedAt: 0, policy, ...counts, ...flags, ...more }
}

function failed(rule = 'default', more: object = {}): Outcome {
  return { kind: 'failed', error, classification: { kind: 'transient', rule }, ...more }
}

function stored(outcome: Outcome, facts: JobFacts = job()) {
  const { decision, status } = decide(facts, outcome, 10_000, () => 0.7364528374652345)
  const run = { status, error: 'error' in outcome ? outcome.error : undefined }
  const text = toDecision(decision, facts.attempt, run)
  return { decision, text, read: fromDecision(text, facts.attempt, run) }
}

describe('the usual decision about a failure', () => {
  it.each<[string, Outcome, JobFacts?]>([
    ['a retry', failed()],
    ['a retry by a built-in rule', failed('built-in: ECONNRESET')],
    ['a retry by a rule of the policy', failed('rule 2 (code ECONNRESET)', { customDelayMs: 5 })],
    ['a retry with Retry-After', failed('default', { retryAfterMs: 30_000 })],
    ['a retry of an error without a code', failed('default', { error: { name: 'Error', message: 'no' } })],
    ['a retry of an error with a status', failed('default', { error: { name: 'E', message: 'no', status: 503 } })],
    ['a retry after a timeout', { kind: 'timed-out', error }],
    ['a retry without jitter', failed(), job({ policy: { ...policy, jitter: 'none' } })],
    ['a retry with jitter in percent', failed(), job({ policy: { ...policy, jitter: 0.2 } })],
    ['a list of delays', failed(), job({ policy: { ...policy, backoff: { type: 'list', delays: ['1s'] } } })],
    ['a linear backoff', failed(), job({ policy: { ...policy, backoff: { type: 'linear', base: 7 } } })],
    ['the last attempt', failed(), job({ attempt: 4 })],
    ['a job without retries', failed(), job({ policy: { ...policy, maxRetries: 0 } })],
    ['a permanent failure', failed('default', { classification: { kind: 'permanent', rule: 'built-in: HTTP 404' } })],
  ])('is stored as codes without its sentence, and read complete: %s', (_, outcome, facts) => {
    const { decision, text, read } = stored(outcome, facts)
    expect(text).toMatch(/^\[/)
    expect(text).not.toContain('retry')
    expect(read).toEqual(decision)
  })
})

describe('the trace of a run', () => {
  it.each<[string, Outcome]>([
    ['a retry', failed()],
    ['a success', { kind: 'succeeded' }],
    ['a snooze', { kind: 'snoozed', delayMs: 5, note: 'later' }],
  ])('is stored with its decision: %s', (_, outcome) => {
    const { decision, status } = decide(job(), outcome, 10_000, () => 0.5)
    const traced = { ...decision, traceId: '4bf92f3577b34da6a3ce929d0e0e4736' }
    const run = { status, error: 'error' in outcome ? outcome.error : undefined }
    expect(fromDecision(toDecision(traced, 1, run), 1, run)).toEqual(traced)
  })
})

describe('a decision with a sentence of its own', () => {
  it.each<[string, Outcome, JobFacts?]>([
    ['a snooze', { kind: 'snoozed', delayMs: 5, note: 'later' }],
    ['a deferral', { kind: 'deferred', delayMs: 5, note: 'the circuit is open', by: 'circuit' }],
    ['a lost run', { kind: 'lost', alone: true }],
    ['a release', { kind: 'released', note: 'the worker stopped' }],
    ['a cancellation', { kind: 'cancelled' }],
    ['a deadline', failed(), job({ deadline: 10_001 })],
    ['an at-most-once failure', failed(), job({ delivery: 'at-most-once', begun: true })],
    [
      'a custom backoff without a delay',
      failed(),
      job({ policy: { ...policy, backoff: { type: 'custom', name: 'mine' } } }),
    ],
  ])('is read as it was stored: %s', (_, outcome, facts) => {
    const { decision, read } = stored(outcome, facts)
    expect(read).toEqual(decision)
  })
})

it('reads the decisions of earlier versions, which contain their sentence', () => {
  const { decision } = stored(failed())
  const old = { ...decision, why: 'an old sentence' }
  expect(fromDecision(JSON.stringify(old), 1, { status: 'failed', error })).toEqual(old)
  expect(toDecision(old, 1, { status: 'failed', error })).toBe(JSON.stringify(old))
})

it('stores no decision of a plain success', () => {
  expect(stored({ kind: 'succeeded' })).toMatchObject({ text: null, read: { why: 'succeeded at the first run' } })
  expect(stored({ kind: 'succeeded' }, job({ attempt: 3 })).read.why).toBe('succeeded at retry 2')
})
