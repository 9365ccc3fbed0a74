import { describe, expect, it } from 'vitest'
import type { Job } from '../../../src/core/job/job.js'
import { viewAttempt, viewJob } from '../../../src/core/job/view.js'
import { blockedBy, type DependencyFacts } from '../../../src/core/job/wait-reason.js'
import { CLOSED } from '../../../src/core/partition/turn.js'
import type { TurnFacts } from '../../../src/core/partition/wait.js'
import { PRESETS } from '../../../src/core/policy/presets.js'
import { DELIVERIES, endpointKey } from '../../../src/core/webhook/delivery.js'
import { deliveryLimits } from '../../../src/core/webhook/webhook.js'

const NOW = Date.UTC(2026, 10, 15, 21)

const job: Job = {
  id: '0199',
  name: 'charge-card',
  queue: 'payments',
  priority: 5,
  delivery: 'at-least-once',
  payload: '{"orderId":"A-17"}',
  tags: ['eu'],
  state: 'waiting',
  runAt: NOW + 60_000,
  createdAt: NOW,
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

const dependency = (state: DependencyFacts['state'], more: Partial<DependencyFacts> = {}) => ({
  dependency: { key: 'api', state, ...more },
})

/** Ten deliveries to the endpoint `e1` run. */
const fullEndpoint: TurnFacts = {
  queue: DELIVERIES,
  limits: { partitions: deliveryLimits([]), from: 'code' },
  queueState: {},
  partition: { name: endpointKey('e1'), running: 10, state: { openAt: CLOSED } },
}

describe('viewJob', () => {
  it('shows a new job as users see it', () => {
    expect(viewJob(job, PRESETS.standard, NOW)).toEqual({
      kind: 'job',
      id: '0199',
      name: 'charge-card',
      queue: 'payments',
      state: 'waiting',
      phase: 'scheduled',
      priority: 5,
      attempt: 0,
      maxAttempts: 4,
      maxRetries: 3,
      retryCount: 0,
      runAt: '2026-11-15T21:01:00.000Z',
      createdAt: '2026-11-15T21:00:00.000Z',
      tags: ['eu'],
      delivery: 'at-least-once',
      payload: { orderId: 'A-17' },
      generation: 1,
      run: 0,
      retry: PRESETS.standard,
    })
  })

  it('shows every optional field that is set', () => {
    const error = { name: 'Error', message: 'x' }
    const more = {
      tenantId: 'acme',
      key: 'k',
      reason: 'exhausted',
      startedAt: NOW,
      finishedAt: NOW + 5,
      result: '1',
      progress: '{"done":3}',
      error,
    } as const
    expect(viewJob({ ...job, ...more, state: 'dead' }, PRESETS.standard, NOW)).toMatchObject({
      phase: 'dead',
      reason: 'exhausted',
      tenantId: 'acme',
      key: 'k',
      error,
      startedAt: '2026-11-15T21:00:00.000Z',
      finishedAt: '2026-11-15T21:00:00.005Z',
      result: 1,
      progress: { done: 3 },
    })
  })

  it.each([
    [{ runAt: NOW }, 'queued'],
    [{ attempt: 1 }, 'retrying'],
    [{ pass: 3 }, 'blocked'],
    [{ pass: 3, attempt: 1 }, 'blocked'],
    [{ pass: 0 }, 'blocked'],
    [{ pass: 3, runAt: NOW }, 'queued'],
    [{ state: 'running', attempt: 1 }, 'running'],
  ] as const)('labels %j as %s', (facts, phase) => {
    expect(viewJob({ ...job, ...facts }, PRESETS.standard, NOW).phase).toBe(phase)
  })

  it.each([
    ['a due job of a paused queue', { runAt: NOW }, { queue: { paused: true } }, 'queue-paused'],
    ['a due retry of a paused queue', { runAt: NOW, attempt: 1 }, { queue: { paused: true } }, 'queue-paused'],
    ['a later job of a paused queue', {}, { queue: { paused: true } }, undefined],
    ['a job behind an open circuit', { pass: 1 }, dependency('open'), 'circuit-open'],
    ['a job behind a probed circuit', { pass: 1 }, dependency('half-open'), 'circuit-probing'],
    ['a job in a ramp', { pass: 1 }, dependency('ramping'), 'circuit-ramping'],
    ['a job with a slot after a ramp', { pass: 1 }, dependency('closed'), 'circuit-ramping'],
    ['a throttled job', { pass: 1 }, dependency('closed', { notBefore: NOW + 1 }), 'not-before'],
    ['a retry over its budget', { pass: 0, attempt: 1 }, dependency('closed', { hasBudget: true }), 'budget'],
    ['a delivery to a busy endpoint', { runAt: NOW, lane: endpointKey('e1') }, { turn: fullEndpoint }, 'limit'],
    ['a later job whose circuit is open', {}, dependency('open'), undefined],
    ['a due job whose circuit is open', { runAt: NOW }, dependency('open'), undefined],
    ['a running job', { state: 'running', pass: 1 }, dependency('open'), undefined],
  ] as const)('says what blocks %s', (_what, facts, around, code) => {
    const asked = { ...job, ...facts }
    const by = blockedBy(asked, NOW, around)
    expect(by).toBe(code)
    const { phase, blockedBy: shown } = viewJob(asked, PRESETS.standard, NOW, by)
    expect([phase === 'blocked', shown]).toEqual([code !== undefined, code])
  })

  it('shows that an at-most-once job has one run, whatever its policy says (R21)', () => {
    expect(viewJob({ ...job, delivery: 'at-most-once' }, PRESETS.standard, NOW)).toMatchObject({
      maxRetries: 0,
      maxAttempts: 1,
    })
  })

  it('is JSON, also with a policy that has predicates', () => {
    const view = viewJob(job, { ...PRESETS.http, rules: [{ when: { predicate: () => true }, as: 'gone' }] }, NOW)
    expect(JSON.parse(JSON.stringify(view))).toEqual(view)
  })

  it('shows damaged text as it is', () => {
    expect(viewJob({ ...job, payload: '{"a":' }, PRESETS.http, NOW).payload).toBe('{"a":')
  })
})

describe('viewAttempt (R10)', () => {
  const record = {
    generation: 1,
    run: 1,
    attempt: 1,
    status: 'succeeded' as const,
    startedAt: NOW,
    finishedAt: NOW + 250,
    workerId: 'w1',
  }

  it('shows a run', () => {
    expect(viewAttempt(record)).toEqual({
      generation: 1,
      run: 1,
      attempt: 1,
      retry: 0,
      label: 'Initial',
      status: 'succeeded',
      startedAt: '2026-11-15T21:00:00.000Z',
      finishedAt: '2026-11-15T21:00:00.250Z',
      durationMs: 250,
      workerId: 'w1',
    })
  })

  it('shows a failed retry with what followed and why', () => {
    const more = {
      run: 4,
      attempt: 3,
      status: 'failed' as const,
      error: { name: 'Error', message: 'x' },
      note: 'n',
      delayMs: 4_000,
      nextRunAt: NOW + 4_250,
      fingerprint: 'f',
      decision: { action: 'retry', why: 'w' } as const,
    }
    expect(viewAttempt({ ...record, ...more })).toMatchObject({
      ...more,
      retry: 2,
      label: 'Retry #2',
      nextRunAt: '2026-11-15T21:00:04.250Z',
    })
  })
})
