import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import type { ChronosOptions } from '../../../src/engine/client/options.js'
import type { ClaimOptions } from '../../../src/engine/leases/leases.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import type { Store } from '../../../src/store/store.js'
import { STORES } from '../../support/stores.js'

const retry = fixed({ delay: '10s', maxRetries: 2, jitter: 'none' })
const STALE = '0'.repeat(32)

/** A process that serves pull workers and has no worker of its own, on virtual time. */
function world(open: (clock: VirtualClock) => Store, options: ChronosOptions = {}) {
  const clock = new VirtualClock()
  const chronos = new Chronos(async () => open(clock), clock, seededDice(1), { log: false, retry, ...options })
  return {
    chronos,
    clock,
    leases: chronos.leases,
    async claimOne(given: Partial<ClaimOptions> = {}) {
      const { data } = await chronos.leases.claim({ workerId: 'py-1', ...given })
      expect(data).toHaveLength(1)
      return data[0]!
    },
    /** Lets virtual time pass until the promise is answered; says what it took. */
    async waitFor<T>(promise: Promise<T>): Promise<{ readonly value: T; readonly tookMs: number }> {
      const since = clock.now()
      const value = await clock.passUntil(promise)
      return { value, tookMs: clock.now() - since }
    },
    [Symbol.asyncDispose]: () => clock.passUntil(chronos.close()),
  }
}

const withRetries = (maxRetries: number) => fixed({ delay: '1s', maxRetries, jitter: 'none' })

describe.each(STORES)('leases on %s', (_, open) => {
  test('the whole life: claimed, failed, retried after its backoff, completed', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('resize', { image: 'a.png' }, { key: 'image:a', timeout: '1m' })
    const first = await w.claimOne()
    expect(first).toMatchObject({
      job: { id, name: 'resize', state: 'running', attempt: 1, maxAttempts: 3, payload: { image: 'a.png' } },
      key: 'image:a',
      leaseMs: 30_000,
      expiresAt: new Date(w.clock.now() + 30_000).toISOString(),
      timeoutMs: 60_000,
      isLastAttempt: false,
    })

    await w.clock.advance(2_000)
    const failed = await w.leases.fail(id, {
      token: first.token,
      error: { name: 'OSError', message: 'disk full', code: 'ENOSPC', stack: 'Traceback\n  File "resize.py"' },
    })
    expect(failed).toMatchObject({
      id,
      state: 'waiting',
      status: 'failed',
      attempt: 1,
      maxAttempts: 3,
      delayMs: 10_000,
      nextRunAt: new Date(w.clock.now() + 10_000).toISOString(),
      decision: { action: 'retry', retry: 1 },
    })
    expect(await w.leases.claim({ workerId: 'py-1' })).toEqual({ data: [] })

    await w.clock.advance(10_000)
    const second = await w.claimOne()
    expect(second).toMatchObject({ job: { id, attempt: 2 }, key: 'image:a' })
    expect(second.token).not.toBe(first.token)
    await w.leases.complete(id, { token: second.token, result: { width: 80 } })
    expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 2, result: { width: 80 } })
    const { data } = await w.chronos.jobs.history(id)
    expect(data).toMatchObject([
      { attempt: 2, status: 'succeeded', workerId: 'py-1' },
      {
        attempt: 1,
        status: 'failed',
        workerId: 'py-1',
        durationMs: 2_000,
        error: { name: 'OSError', message: 'disk full', code: 'ENOSPC', stack: 'Traceback\n  File "resize.py"' },
        fingerprint: expect.any(String),
      },
    ])
  })

  test('a worker that vanished: its job goes to the next one, and the attempt counts', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('resize', {})
    const lost = await w.claimOne({ lease: '5s' })
    await w.clock.advance(120_000)
    expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 1 })
    const next = await w.claimOne({ workerId: 'py-2' })
    expect(next).toMatchObject({ job: { id, attempt: 2 }, suspect: true })
    await expect(w.leases.complete(id, { token: lost.token })).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await w.leases.complete(id, { token: next.token })
    expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'succeeded' })
  })

  test('a late request that names its run does not touch a later run under the same token', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('resize', {})
    const token = 'a'.repeat(32)
    const first = await w.claimOne({ token })
    const failure = { token, run: first.job.run!, error: { message: 'busy' } }
    await w.leases.fail(id, failure)
    await w.clock.advance(10_000)
    // A server that was suspended delivers the claim and the failure once more.
    const second = await w.claimOne({ token })
    expect(second.job.run).toBe(2)
    expect(await w.leases.fail(id, failure)).toMatchObject({ status: 'failed', repeated: true })
    await expect(w.leases.complete(id, { token, run: 1 })).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await expect(w.leases.extend(id, { token, run: 1 })).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'running', run: 2, attempt: 2 })
    expect(await w.leases.complete(id, { token, run: 2 })).toMatchObject({ state: 'succeeded' })
  })

  test('a renewed lease is not lost', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('slow', {})
    const { token } = await w.claimOne()
    for (let passed = 0; passed < 10; passed++) {
      await w.clock.advance(20_000)
      const extended = await w.leases.extend(id, {
        token,
        progress: { done: passed },
        log: [{ message: `at ${passed}` }],
      })
      expect(extended).toEqual({ expiresAt: new Date(w.clock.now() + 30_000).toISOString(), cancelRequested: false })
    }
    expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'running', attempt: 1, progress: { done: 9 } })
    expect((await w.chronos.jobs.logs(id)).data).toHaveLength(10)
    await w.leases.complete(id, { token })
    expect((await w.chronos.jobs.history(id)).data).toMatchObject([{ status: 'succeeded' }])
  })

  test('S13: no lease is renewed past the timeout of a run; then the run has timed out', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('slow', {}, { timeout: '40s' })
    const { token } = await w.claimOne()
    await w.clock.advance(25_000)
    const { expiresAt } = await w.leases.extend(id, { token, lease: '1h' })
    expect(Date.parse(expiresAt)).toBe(w.clock.now() + 15_000 + 5_000)
    await w.clock.advance(15_000)
    await expect(w.leases.extend(id, { token })).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { status: 'timed-out' },
    })
    expect((await w.chronos.jobs.history(id)).data).toMatchObject([
      { status: 'timed-out', error: { name: 'TimeoutError' }, decision: { action: 'retry' } },
    ])
    await expect(w.leases.complete(id, { token })).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })

  test('an end that is reported twice takes effect once, and both calls are answered', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('resize', {})
    const first = await w.claimOne()
    const fail = { token: first.token, error: { message: 'no' } }
    const failed = await w.leases.fail(id, fail)
    expect(await w.leases.fail(id, fail)).toEqual({ ...failed, repeated: true })
    // Its own word counts: this run did not end well.
    await expect(w.leases.complete(id, { token: first.token })).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await w.clock.advance(10_000)
    const second = await w.claimOne()
    // Also after another worker has it.
    expect(await w.leases.fail(id, fail)).toMatchObject({ repeated: true, status: 'failed' })
    await w.leases.complete(id, { token: second.token, result: 1 })
    expect(await w.leases.complete(id, { token: second.token, result: 2 })).toMatchObject({
      state: 'succeeded',
      repeated: true,
    })
    expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 1, attempt: 2 })
    expect((await w.chronos.jobs.history(id)).data).toHaveLength(2)
  })

  test('a claim whose answer was lost is repeated with its token', async () => {
    await using w = world(open)
    await w.chronos.enqueueMany('resize', [1, 2, 3])
    const token = 'a'.repeat(32)
    const first = await w.leases.claim({ workerId: 'py-1', limit: 2, token })
    expect(first.data).toHaveLength(2)
    expect(await w.leases.claim({ workerId: 'py-1', limit: 2, token })).toEqual(first)
  })

  test('a wrong token, and a job that does not exist', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('resize', {})
    await w.claimOne()
    const gone = '01900000-0000-7000-8000-000000000000'
    for (const end of ['extend', 'complete', 'release'] as const) {
      await expect(w.leases[end](id, { token: STALE })).rejects.toMatchObject({ code: 'LEASE_LOST' })
      await expect(w.leases[end](gone, { token: STALE })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'running' })
  })

  test.each([
    ['its worker calls it final', { retryable: false }, {}, 'permanent', 'OSError is permanent (handler)'],
    ['a status that no retry helps', { status: 404 }, {}, 'permanent', 'HTTP 404'],
    [
      'a rule of the policy',
      { code: 'E_CARD' },
      { rules: [{ when: { code: 'E_CARD' }, as: 'permanent' }] },
      'permanent',
      'E_CARD',
    ],
  ] as const)('a failure ends the job: %s', async (_name, error, options, reason, words) => {
    await using w = world(open, options)
    const { id } = await w.chronos.enqueue('resize', {})
    const { token } = await w.claimOne()
    const end = await w.leases.fail(id, { token, error: { name: 'OSError', message: 'no', ...error } })
    expect(end).toMatchObject({ state: 'dead', status: 'failed', reason })
    expect(end.decision!.why).toContain(words)
    expect((await w.chronos.dead.groups()).data).toMatchObject([{ dead: 1, names: ['resize'] }])
  })

  test('retryable overrides the rules, and retryAfter overrides the backoff', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('resize', {})
    const first = await w.claimOne()
    const again = await w.leases.fail(id, {
      token: first.token,
      error: { message: 'gone', status: 404, retryable: true },
    })
    expect(again).toMatchObject({ state: 'waiting', delayMs: 10_000 })
    await w.clock.advance(10_000)
    const second = await w.claimOne()
    const later = await w.leases.fail(id, { token: second.token, error: { message: 'busy' }, retryAfter: '5m' })
    expect(later).toMatchObject({ state: 'waiting', decision: { source: 'retry-after' } })
    expect(later.delayMs).toBeGreaterThanOrEqual(300_000)
  })

  test('the last attempt: the job dies, its webhook and its listeners are notified', async () => {
    await using w = world(open, { retry: fixed({ delay: '1s', maxRetries: 0 }), egress: { allow: ['loopback'] } })
    const heard: string[] = []
    for (const name of ['job.started', 'attempt.failed', 'job.dead'] as const)
      w.chronos.on(name, () => heard.push(name))
    const { id } = await w.chronos.enqueue('resize', {}, { webhook: 'http://127.0.0.1:9/hooks' })
    const lease = await w.claimOne()
    expect(lease.isLastAttempt).toBe(true)
    await w.leases.fail(id, { token: lease.token, error: { message: 'no' } })
    expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'exhausted' })
    expect(heard).toEqual(['job.started', 'attempt.failed', 'job.dead'])
    const { data } = await w.chronos.jobs.list({ queue: 'chronos:deliveries' })
    expect(data).toMatchObject([{ name: 'chronos:delivery', tags: ['job.dead'] }])
  })

  test('R34: a retry is one line with tenant, job, attempt, retry i of n, delay and time', async () => {
    const lines: Record<string, unknown>[] = []
    const log = pino({ level: 'info' }, { write: line => void lines.push(JSON.parse(line) as Record<string, unknown>) })
    await using w = world(open, { log })
    const { id } = await w.chronos.enqueue('resize', { secret: 'hunter2' }, { tenantId: 'acme' })
    const { token } = await w.claimOne()
    await w.leases.fail(id, { token, error: { name: 'OSError', message: 'disk full', stack: 'Traceback' } })
    expect(lines.filter(({ event }) => event === 'job.retrying')).toMatchObject([
      {
        level: 40,
        tenantId: 'acme',
        jobId: id,
        name: 'resize',
        queue: 'default',
        attempt: 1,
        retry: 1,
        maxRetries: 2,
        workerId: 'py-1',
        delayMs: 10_000,
        nextRunAt: new Date(w.clock.now() + 10_000).toISOString(),
        error: { name: 'OSError', message: 'disk full' },
      },
    ])
    expect(JSON.stringify(lines)).not.toContain('hunter2')
  })

  test('snooze and release cost no attempt', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('resize', {})
    const first = await w.claimOne()
    const snoozed = await w.leases.snooze(id, { token: first.token, delay: '7s', note: 'no stock yet' })
    expect(snoozed).toMatchObject({ state: 'waiting', status: 'snoozed', attempt: 0, delayMs: 7_000 })
    await w.clock.advance(7_000)
    const second = await w.claimOne()
    expect(second.job.attempt).toBe(1)
    expect(await w.leases.release(id, { token: second.token })).toMatchObject({ state: 'waiting', attempt: 0 })
    const third = await w.claimOne()
    await w.leases.release(id, { token: third.token, started: false })
    const fourth = await w.claimOne()
    expect(fourth.job.attempt).toBe(1)
    // What was never started has left no trace.
    const { data } = await w.chronos.jobs.history(id)
    expect(data.map(({ status }) => status)).toEqual(['released', 'snoozed'])
  })

  test('at-most-once: handed out after begin is stored, and never again', async () => {
    await using w = world(open)
    const options = { delivery: 'at-most-once' } as const
    const { id } = await w.chronos.enqueue('charge', {}, options)
    const { token } = await w.claimOne({ lease: '5s' })
    await expect(w.leases.snooze(id, { token, delay: '1s' })).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await w.clock.advance(120_000)
    expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })

    const { id: failing } = await w.chronos.enqueue('charge', {}, options)
    const second = await w.claimOne()
    const end = await w.leases.fail(failing, { token: second.token, error: { message: 'no' } })
    expect(end).toMatchObject({ state: 'dead', reason: 'failed' })

    const { id: untouched } = await w.chronos.enqueue('charge', {}, options)
    const third = await w.claimOne()
    await w.leases.release(untouched, { token: third.token, started: false })
    expect(await w.claimOne()).toMatchObject({ job: { id: untouched, attempt: 1 } })
  })

  test('at-most-once: not handed out if its lease may be over before begin is stored', async () => {
    // A sweep that reads the job meanwhile decides that it has not begun, and it starts again.
    const slow = (store: Store, clock: VirtualClock): Store =>
      new Proxy(store, {
        get(target, name) {
          const value = target[name as keyof Store]
          if (name !== 'begin') return typeof value === 'function' ? value.bind(target) : value
          return async (requests: Parameters<Store['begin']>[0]) => {
            await clock.wait(6_000)
            return target.begin(requests)
          }
        },
      })
    await using w = world(clock => slow(open(clock), clock))
    const { id } = await w.chronos.enqueue('charge', {}, { delivery: 'at-most-once' })
    const claim = w.leases.claim({ workerId: 'py-1', lease: '5s' })
    expect(await w.clock.passUntil(claim, { despite: 'calls' })).toEqual({ data: [] })
    await w.clock.advance(120_000)
    expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })
  })

  test('at-most-once: not handed out before begin by a server that is closing, and unchanged', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('charge', {}, { delivery: 'at-most-once' })
    const closing = new AbortController()
    const claim = w.leases.claim({ workerId: 'py-1', lease: '5s', token: 'a'.repeat(32), signal: closing.signal })
    closing.abort()
    expect(await claim).toEqual({ data: [] })
    await w.clock.advance(120_000)
    expect(await w.claimOne()).toMatchObject({ job: { id, attempt: 1 } })
  })

  test('a cancel reaches the worker with its next renewal; whatever it reports then, the job is cancelled', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('slow', {})
    const { token } = await w.claimOne()
    await w.chronos.jobs.cancel(id)
    expect(await w.leases.extend(id, { token })).toMatchObject({ cancelRequested: true })
    const end = await w.leases.fail(id, { token, error: { message: 'stopped' } })
    expect(end).toMatchObject({ state: 'cancelled', status: 'cancelled' })
  })

  test('a run that finishes before it sees the cancel succeeds', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('slow', {})
    const { token } = await w.claimOne()
    await w.chronos.jobs.cancel(id)
    expect(await w.leases.complete(id, { token })).toMatchObject({ state: 'succeeded' })
  })

  test('hands out by queue, name and priority, and never what Chronos runs itself', async () => {
    await using w = world(open)
    const low = await w.chronos.enqueue('a', 1, { queue: 'images', priority: 1 })
    const b = await w.chronos.enqueue('b', 2, { queue: 'images' })
    const high = await w.chronos.enqueue('a', 3, { queue: 'images', priority: 9 })
    await w.chronos.http({ url: 'https://example.com/' }, { queue: 'images', priority: 9 })
    const ask = { workerId: 'py-1', queues: ['images'], limit: 10 }
    const named = await w.leases.claim({ ...ask, names: ['a'] })
    expect(named.data.map(({ job }) => job.id)).toEqual([high.id, low.id])
    const rest = await w.leases.claim(ask)
    expect(rest.data.map(({ job }) => job.id)).toEqual([b.id])
    expect((await w.leases.claim(ask)).data).toEqual([])
    await w.chronos.queues.pause('default')
    await w.chronos.enqueue('a', 4)
    expect((await w.leases.claim({ workerId: 'py-1' })).data).toEqual([])
  })

  test('jobs run under the policy of their definition, and those without one under that of their queue', async () => {
    await using w = world(open, { queues: { images: { retry: fixed({ delay: '3s', maxRetries: 7 }) } } })
    const defined = defineJob({
      name: 'defined',
      queue: 'images',
      retry: fixed({ delay: '4s', maxRetries: 4 }),
      run() {},
    })
    await w.chronos.enqueue(defined, undefined)
    const { id } = await w.chronos.enqueue('bare', {}, { queue: 'images' })
    await w.chronos.enqueue('own', {}, { queue: 'images', retry: { maxRetries: 1 } })
    const { data } = await w.leases.claim({ workerId: 'py-1', queues: ['images'], limit: 10 })
    expect(data.map(({ job }) => [job.name, job.maxRetries])).toEqual([
      ['defined', 4],
      ['bare', 7],
      ['own', 1],
    ])

    // What a queue is told while everything runs goes for the next failure.
    await w.chronos.queues.set('images', { retry: fixed({ delay: '9s', maxRetries: 9, jitter: 'none' }) })
    await w.clock.advance(11_000)
    const bare = data.find(({ job }) => job.id === id)!
    expect(await w.leases.fail(id, { token: bare.token, error: { message: 'no' } })).toMatchObject({
      maxAttempts: 10,
      delayMs: 9_000,
    })
  })

  test('suspects are handed out one by one', async () => {
    await using w = world(open)
    await w.chronos.enqueueMany('resize', [1, 2, 3])
    await w.leases.claim({ workerId: 'py-1', limit: 3, lease: '5s' })
    await w.clock.advance(120_000)
    // It is unknown which of the three it was, so all of them are suspects, and the lost run counts for each.
    const first = await w.leases.claim({ workerId: 'py-2', limit: 10 })
    const second = await w.leases.claim({ workerId: 'py-2', limit: 10 })
    expect([first, second].map(({ data }) => data.map(({ job, suspect }) => [job.attempt, suspect]))).toEqual([
      [[2, true]],
      [[2, true]],
    ])
  })

  test('R52: a run of a pull worker that is lost counts, and the last one is the end', async () => {
    await using w = world(open)
    const none = await w.chronos.enqueue('resize', 1, { retry: withRetries(0) })
    const one = await w.chronos.enqueue('resize', 2, { retry: withRetries(1) })
    const claim = async () => (await w.leases.claim({ workerId: 'py', limit: 10, lease: '5s' })).data
    expect(await claim()).toHaveLength(2)
    await w.clock.advance(120_000)
    expect(await w.chronos.jobs.get(none.id)).toMatchObject({ state: 'dead', reason: 'exhausted', attempt: 1 })
    expect((await claim()).map(({ job, isLastAttempt }) => [job.id, isLastAttempt])).toEqual([[one.id, true]])
    await w.clock.advance(120_000)
    expect(await w.chronos.jobs.get(one.id)).toMatchObject({ state: 'dead', reason: 'exhausted', attempt: 2 })
    expect(await claim()).toEqual([])
  })

  test('R52: a pull worker may hand back a job without retries only if it has not started', async () => {
    await using w = world(open)
    const { id } = await w.chronos.enqueue('resize', 1, { retry: withRetries(0) })
    const claim = async () => (await w.leases.claim({ workerId: 'py' })).data[0]!
    expect(await w.leases.release(id, { token: (await claim()).token, started: false })).toMatchObject({
      state: 'waiting',
      attempt: 0,
    })
    expect(await w.leases.release(id, { token: (await claim()).token })).toMatchObject({
      state: 'dead',
      reason: 'exhausted',
    })
  })

  test('an open circuit: no job is handed out, then one probe, and its success lets the others start', async () => {
    const circuit = { minimumCalls: 3, failureRate: 0.5, openFor: '30s' } as const
    await using w = world(open, { circuit, retry: fixed({ delay: '1s', maxRetries: 9, jitter: 'none' }) })
    const enqueue = () => w.chronos.enqueue('call', {}, { dependsOn: 'api' })
    for (let calls = 0; calls < 3; calls++) {
      const { id } = await enqueue()
      const { token } = await w.claimOne()
      await w.leases.fail(id, { token, error: { message: 'down', code: 'ECONNREFUSED' } })
    }
    await w.clock.advance(1_000)
    expect((await w.leases.claim({ workerId: 'py-1', limit: 10 })).data).toEqual([])
    expect((await w.chronos.circuits.list()).data).toMatchObject([{ key: 'api', state: 'open' }])

    const waited = await w.waitFor(
      (async () => {
        for (;;) {
          const { data } = await w.leases.claim({ workerId: 'py-1', limit: 10, wait: '30s' })
          if (data.length > 0) return data
        }
      })(),
    )
    expect(waited.value).toHaveLength(1)
    expect(waited.tookMs).toBeGreaterThanOrEqual(25_000)
    expect((await w.chronos.circuits.list()).data).toMatchObject([{ key: 'api', state: 'half-open' }])
    const [probe] = waited.value
    await w.leases.complete(probe!.job.id, { token: probe!.token })
    await w.clock.advance(1_000)
    expect((await w.chronos.circuits.list()).data).toMatchObject([{ key: 'api', state: 'ramping' }])
  })

  describe('wait', () => {
    test('is answered as soon as there is a job', async () => {
      await using w = world(open)
      const claim = w.leases.claim({ workerId: 'py-1', wait: '30s' })
      await w.clock.advance(12_345)
      const before = w.clock.now()
      const { id } = await w.chronos.enqueue('resize', {})
      const { value, tookMs } = await w.waitFor(claim)
      expect(value.data).toMatchObject([{ job: { id } }])
      expect(tookMs).toBe(0)
      expect(w.clock.now()).toBe(before)
    })

    test('is answered when a job falls due', async () => {
      await using w = world(open)
      await w.chronos.enqueue('resize', {}, { delay: '7777ms' })
      const { value, tookMs } = await w.waitFor(w.leases.claim({ workerId: 'py-1', wait: '30s' }))
      expect(value.data).toHaveLength(1)
      expect(tookMs).toBe(7_777)
    })

    test('ends with nothing when its time is over', async () => {
      await using w = world(open)
      const { value, tookMs } = await w.waitFor(w.leases.claim({ workerId: 'py-1', wait: '20s' }))
      expect(value).toEqual({ data: [] })
      expect(tookMs).toBe(20_000)
    })

    test('gives each job to one of many waiting workers, the longest waiting first', async () => {
      await using w = world(open)
      const got: string[] = []
      const claims = ['a', 'b', 'c', 'd'].map(async workerId => {
        const { data } = await w.leases.claim({ workerId, wait: '10s', limit: 5 })
        for (const { job } of data) got.push(`${workerId} ${String(job.payload)}`)
      })
      await w.clock.advance(1_000)
      await w.chronos.enqueue('resize', 1)
      await w.clock.advance(10)
      await w.chronos.enqueue('resize', 2)
      await w.waitFor(Promise.all(claims))
      expect(got).toEqual(['a 1', 'b 2'])
    })

    test('a worker that has disconnected gets no job, and no job is lost', async () => {
      await using w = world(open)
      const gone = new AbortController()
      const claim = w.leases.claim({ workerId: 'py-1', wait: '30s', signal: gone.signal })
      await w.clock.advance(1_000)
      gone.abort()
      const { value, tookMs } = await w.waitFor(claim)
      expect([value, tookMs]).toEqual([{ data: [] }, 0])
      await w.chronos.enqueue('resize', {})
      expect(await w.claimOne({ workerId: 'py-2' })).toMatchObject({ job: { attempt: 1 } })
    })

    test('the jobs of a worker that disconnects during its claim are unchanged', async () => {
      await using w = world(open)
      const { id } = await w.chronos.enqueue('charge', {}, { delivery: 'at-most-once' })
      const gone = new AbortController()
      const claim = w.leases.claim({ workerId: 'py-1', signal: gone.signal })
      gone.abort()
      expect(await claim).toEqual({ data: [] })
      expect(await w.chronos.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })
      expect(await w.claimOne()).toMatchObject({ job: { id, attempt: 1 } })
    })

    test('ends when Chronos closes', async () => {
      const w = world(open)
      const claim = w.leases.claim({ workerId: 'py-1', wait: '30s' })
      await w.clock.advance(1_000)
      const since = w.clock.now()
      await w[Symbol.asyncDispose]()
      expect(await claim).toEqual({ data: [] })
      expect(w.clock.now()).toBe(since)
    })
  })

  test('pull workers are listed as long as they make calls', async () => {
    await using w = world(open)
    await w.chronos.enqueue('resize', {}, { queue: 'images' })
    await w.leases.claim({ workerId: 'py-0', names: ['other'], host: 'ml-7', pid: 42 })
    await w.claimOne({ queues: ['images'] })
    await w.clock.advance(2_000)
    expect(await w.chronos.workers()).toMatchObject([
      { id: 'py-1', kind: 'pull', state: 'alive', queues: ['images'], names: ['*'], running: 1 },
      {
        id: 'py-0',
        kind: 'pull',
        state: 'alive',
        queues: ['default'],
        names: ['other'],
        running: 0,
        host: 'ml-7',
        pid: 42,
      },
    ])
    const another = await w.chronos.enqueue('resize', {}, { queue: 'images' })
    expect((await w.chronos.jobs.explain(another.id)).waiting).toMatchObject({ because: 'due' })
    await w.clock.advance(60_000)
    expect((await w.chronos.workers()).map(({ id: worker, state }) => [worker, state])).toEqual([
      ['py-1', 'silent'],
      ['py-0', 'silent'],
    ])
    expect((await w.chronos.jobs.explain(another.id)).waiting).toMatchObject({ because: 'no-worker' })
  })

  test.each([
    [{ workerId: '' }, 'workerId'],
    [{ workerId: 'x'.repeat(129) }, 'workerId'],
    [{ queues: [] }, 'queues'],
    [{ queues: ['chronos:deliveries'] }, 'served by Chronos itself'],
    [{ names: Array.from({ length: 101 }, (_none, index) => `n${index}`) }, 'names'],
    [{ limit: 0 }, 'limit'],
    [{ limit: 101 }, 'limit'],
    [{ lease: '999ms' }, 'lease'],
    [{ lease: '2h' }, 'lease'],
    [{ wait: '31s' }, 'wait'],
    [{ token: 'short' }, 'token'],
    [{ queue: ['x'] }, 'did you mean'],
  ])('claim refuses %j', async (given, words) => {
    await using w = world(open)
    await expect(w.leases.claim({ workerId: 'py-1', ...given } as ClaimOptions)).rejects.toThrow(words)
  })

  test.each([
    [{ message: 1 }, 'error.message'],
    [{ message: 'x', status: 7 }, 'error.status'],
    [{ message: 'x', code: 5 }, 'error.code'],
    [{ message: 'x', retryable: 'no' }, 'error.retryable'],
    [{ message: 'x', retriable: false }, 'did you mean "retryable"'],
  ])('fail refuses the error %j', async (error, words) => {
    await using w = world(open)
    await expect(w.leases.fail('x', { token: STALE, error: error as never })).rejects.toThrow(words)
  })
})
