import { describe, expect, test } from 'vitest'
import { decide, type Transition } from '../../../src/core/job/lifecycle.js'
import { fixed } from '../../../src/core/policy/builders.js'
import { PRESETS } from '../../../src/core/policy/presets.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import type { ReconcileAnswer, ReconcileAttempt, ReconcileJob } from '../../../src/engine/worker/reconcile.js'
import type { Claimed, Store } from '../../../src/store/store.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const retry = fixed({ delay: '10s', maxRetries: 2, jitter: 'none' })
const reset = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' })

type Asked = { readonly job: ReconcileJob<{ order: number }>; readonly attempt: ReconcileAttempt }

/** An at-most-once job whose run n does `runs[n]` (the last one for ever), and whose hook gives these answers in turn. */
function doubtful(
  runs: readonly (() => unknown)[],
  answer: (asked: Asked) => ReconcileAnswer | Promise<ReconcileAnswer>,
  options: { readonly maxRetries?: number } = {},
) {
  const starts: number[] = []
  const asked: Asked[] = []
  const job = defineJob({
    name: 'charge',
    delivery: 'at-most-once',
    timeout: '5s',
    retry: { ...retry, ...options },
    run(payload: { order: number }) {
      starts.push(payload.order)
      return runs[Math.min(starts.length, runs.length) - 1]!()
    },
    reconcile(doubt, attempt) {
      asked.push({ job: doubt, attempt })
      return answer({ job: doubt, attempt })
    },
  })
  return { job, starts, asked }
}

/** Time passes although handlers and hooks hang. */
const HUNG = { despite: 'handlers' } as const
const never = () => new Promise<never>(() => {})
const fail = (error: () => Error) => () => {
  throw error()
}

describe.each(STORES)('reconcile on %s', (_, store) => {
  test('a run that timed out and had been done succeeds, and says so', async () => {
    const { job, starts, asked } = doubtful([never], () => ({ done: { receipt: 7 } }))
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, { order: 4 }, { key: 'order:4', tags: ['vip'] })
    await t.drain(HUNG)
    expect(starts).toEqual([4])
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', result: { receipt: 7 } })
    const { data } = await t.jobs.history(id)
    expect(data).toMatchObject([
      {
        status: 'succeeded',
        note: 'reconciled: it had been carried out',
        decision: {
          action: 'succeed',
          reconciled: 'done',
          why: 'succeeded: the run timed out, and reconcile found it done',
        },
      },
    ])
    expect(asked).toHaveLength(1)
    expect(asked[0]!.job).toMatchObject({ id, name: 'charge', key: 'order:4', tags: ['vip'], payload: { order: 4 } })
    expect(asked[0]!.attempt).toMatchObject({
      run: 1,
      attempt: 1,
      status: 'timed-out',
      error: { name: 'TimeoutError' },
    })
  })

  test('a reset without effect is retried by the policy', async () => {
    const { job, starts, asked } = doubtful([fail(reset), fail(reset), () => 'paid'], () => 'not-done')
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, { order: 4 })
    await t.drain()
    expect(starts).toEqual([4, 4, 4])
    expect(asked.map(one => one.attempt.error?.code)).toEqual(['ECONNRESET', 'ECONNRESET'])
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 'paid', attempt: 3, maxAttempts: 3 })
    const { data } = await t.jobs.history(id)
    expect(data.map(one => [one.status, one.delayMs, one.note])).toEqual([
      ['succeeded', undefined, undefined],
      ['failed', 10_000, 'reconciled: it had not been carried out'],
      ['failed', 10_000, 'reconciled: it had not been carried out'],
    ])
  })

  test('a run without effect and with no retry left is a known failure', async () => {
    const { job, starts } = doubtful([fail(reset)], () => 'not-done', { maxRetries: 0 })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, { order: 4 })
    await t.drain()
    expect(starts).toHaveLength(1)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'failed', error: { code: 'ECONNRESET' } })
  })

  test.each<[string, () => unknown, string]>([
    ['asks a person', () => 'ask', 'reconcile asks for manual review'],
    ['throws', fail(() => new Error('no answer today')), 'reconcile gave no answer'],
    ['rejects', () => Promise.reject(new Error('no answer today')), 'reconcile gave no answer'],
    ['says nonsense', () => 'maybe', 'reconcile gave no answer'],
    ['says nothing', () => undefined, 'reconcile gave no answer'],
    ['takes too long', never, 'reconcile gave no answer'],
  ])('a hook that %s leaves it unknown, and it never starts again', async (_name, answer, note) => {
    const { job, starts } = doubtful([fail(reset)], answer as () => ReconcileAnswer)
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, { order: 4 })
    await t.advance('1m', HUNG)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })
    expect((await t.jobs.history(id)).data).toMatchObject([{ status: 'failed', note }])
    expect(starts).toHaveLength(1)
  })

  test('a hook has thirty seconds, and its signal aborts after that', async () => {
    let signal: AbortSignal | undefined
    const { job } = doubtful([fail(reset)], ({ job: doubt }) => {
      signal = doubt.signal
      return never()
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, { order: 4 })
    await t.advance('29s', HUNG)
    expect(signal?.aborted).toBe(false)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'running' })
    await t.advance('1s', HUNG)
    expect(signal?.aborted).toBe(true)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })
  })

  test.each<[string, () => Error]>([
    ['a throw', () => new Error('card declined')],
    ['an answer', () => Object.assign(new Error('busy'), { status: 503 })],
    ['a refused connection', refused],
  ])('%s is known, so reconcile is not called', async (_name, error) => {
    const { job, asked } = doubtful([fail(error)], () => 'done')
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, { order: 4 })
    await t.drain()
    expect(asked).toEqual([])
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'failed' })
  })

  test('a worker that stops asks before it goes', async () => {
    const { job } = doubtful([never], () => 'done')
    const t = testChronos({ jobs: [job], store, work: { grace: '1s' } })
    const { id } = await t.enqueue(job, { order: 4 })
    await t.advance('1s', HUNG)
    const stopping = t.worker.stop()
    await t.advance('3s', HUNG)
    await stopping
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded' })
    await t.close()
  })
})

describe.each(STORES)('reconcile after a lost worker on %s', (_, open) => {
  /** Jobs are enqueued where this process's worker does not look, and claimed by a worker that vanishes. */
  async function lose(job: ReturnType<typeof doubtful>['job'], orders: readonly number[]) {
    let store: Store | undefined
    const t = testChronos({
      jobs: [job],
      store: clock => {
        store = open(clock)
        return store
      },
      work: { queues: ['elsewhere'], lease: '30s' },
    })
    const ids: string[] = []
    for (const order of orders) ids.push((await t.enqueue(job, { order })).id)
    const claim = { workerId: 'ghost', token: 'a'.repeat(32), queues: ['default'], leaseMs: 30_000, policyIds: {} }
    const claimed = (await store!.claim({ ...claim, limit: orders.length })).jobs
    await store!.begin(claimed.map(({ id, token }) => ({ id, token, delivery: 'at-most-once' as const })))
    return { t, store: store!, ids, claimed }
  }

  function succeeded(claimed: Claimed): Transition {
    return decide({ ...claimed, begun: true, policy: PRESETS.standard }, { kind: 'succeeded' }, 0, () => 0)
  }

  test('done: it succeeded', async () => {
    const { job, asked } = doubtful([never], () => ({ done: 7 }))
    const { t, ids } = await lose(job, [1])
    await t.advance('2m', HUNG)
    expect(await t.jobs.get(ids[0]!)).toMatchObject({ state: 'succeeded', result: 7 })
    expect((await t.jobs.history(ids[0]!)).data).toMatchObject([
      { status: 'succeeded', workerId: 'ghost', note: 'reconciled: it had been carried out' },
    ])
    expect(asked[0]!.attempt).toMatchObject({ status: 'lost', workerId: 'ghost', error: { name: 'WorkerLost' } })
    await t.close()
  })

  test('waits for a retry if the work was not done', async () => {
    const { job } = doubtful([never], () => 'not-done')
    const { t, ids } = await lose(job, [1])
    await t.advance('2m', HUNG)
    expect(await t.jobs.get(ids[0]!)).toMatchObject({ state: 'waiting', attempt: 1 })
    expect((await t.jobs.history(ids[0]!)).data).toMatchObject([
      { status: 'lost', delayMs: 10_000, decision: { action: 'retry', reconciled: 'not-done' } },
    ])
    await t.close()
  })

  test('ask: it is dead, and unknown', async () => {
    const { job } = doubtful([never], () => 'ask')
    const { t, ids } = await lose(job, [1])
    await t.advance('2m', HUNG)
    expect(await t.jobs.get(ids[0]!)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })
    await t.close()
  })

  test('a hook that hangs is called once, and does not block other jobs', async () => {
    const { job, asked } = doubtful([never], ({ job: { payload } }) => (payload.order === 1 ? never() : 'done'))
    const { t, ids } = await lose(job, [1, 2, 3])
    await t.advance('45s', HUNG)
    expect(asked.map(one => one.job.payload.order).sort()).toEqual([1, 2, 3])
    expect(await t.jobs.get(ids[0]!)).toMatchObject({ state: 'running' })
    expect(await t.jobs.get(ids[1]!)).toMatchObject({ state: 'succeeded' })
    expect(await t.jobs.get(ids[2]!)).toMatchObject({ state: 'succeeded' })
    await t.advance('1m', HUNG)
    expect(asked).toHaveLength(3)
    expect(await t.jobs.get(ids[0]!)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })
    await t.close()
  })

  test('many jobs are reconciled a few at a time, and all of them end', async () => {
    let now = 0
    let most = 0
    const orders = Array.from({ length: 35 }, (_each, order) => order)
    const { job, asked } = doubtful([never], async () => {
      most = Math.max(most, ++now)
      await clock.wait(1_000)
      now--
      return 'done' as const
    })
    const { t, ids } = await lose(job, orders)
    const { clock } = t
    await t.advance('5m', HUNG)
    expect(most).toBe(10)
    expect(asked.map(one => one.job.payload.order).sort((a, b) => a - b)).toEqual(orders)
    for (const id of ids) expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded' })
    await t.close()
  })

  test('a worker that comes back meanwhile decides', async () => {
    const { job } = doubtful([never], async () => {
      await clock.wait(20_000)
      return 'not-done' as const
    })
    const { t, store, ids, claimed } = await lose(job, [1])
    const { clock } = t
    await t.advance('45s', HUNG)
    const [held] = claimed
    const { id, token, generation, run, attempt, workerId, queue, name } = held!
    const times = { startedAt: clock.now(), finishedAt: clock.now() }
    const end = { kind: 'ended', transition: succeeded(held!) } as const
    const settlement = { lease: { id, token }, generation, run, attempt, workerId, queue, name, ...times, end }
    expect(await store.settle([settlement])).toMatchObject([{ status: 'settled', state: 'succeeded' }])
    await t.advance('1m', HUNG)
    expect(await t.jobs.get(ids[0]!)).toMatchObject({ state: 'succeeded' })
    expect((await t.jobs.history(ids[0]!)).data).toHaveLength(1)
    await t.close()
  })

  test('a process that stops leaves reconcile to the next', async () => {
    let signal: AbortSignal | undefined
    const { job } = doubtful([never], ({ job: doubt }) => {
      signal = doubt.signal
      return never()
    })
    const { t, store, ids } = await lose(job, [1])
    await t.advance('45s', HUNG)
    expect(signal?.aborted).toBe(false)
    const stopping = t.worker.stop()
    await t.advance('1s', HUNG)
    await stopping
    expect(signal?.aborted).toBe(true)
    expect(await store.get(ids[0]!)).toMatchObject({ state: 'running' })
    await t.close()
  })
})

describe.each(STORES)('retryUnsent on %s', (_, store) => {
  const define = (retryUnsent: boolean, errors: readonly (() => Error)[]) => {
    let starts = 0
    return {
      starts: () => starts,
      job: defineJob({
        name: 'call',
        delivery: 'at-most-once',
        retry,
        ...(retryUnsent && { retryUnsent }),
        run() {
          const error = errors[starts++]
          if (error) throw error()
          return 'sent'
        },
      }),
    }
  }

  test('a request that was never sent is sent again, after another begin', async () => {
    const { job, starts } = define(true, [refused, refused])
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job)
    await t.drain()
    expect(starts()).toBe(3)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 'sent', attempt: 3 })
    const [, last] = (await t.jobs.history(id)).data
    expect(last!.decision!.why).toBe('retry 2 of 2 in 10s: ECONNREFUSED, so the request was never sent')
  })

  test('a request that was sent is not', async () => {
    const { job, starts } = define(true, [refused, reset])
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job)
    await t.drain()
    expect(starts()).toBe(2)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })
  })

  test('with all retries used it has failed', async () => {
    const { job, starts } = define(true, [refused, refused, refused, refused])
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job)
    await t.drain()
    expect(starts()).toBe(3)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'failed' })
  })

  test('is off unless asked for', async () => {
    const { job, starts } = define(false, [refused])
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job)
    await t.drain()
    expect(starts()).toBe(1)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'failed' })
  })
})

describe('a definition', () => {
  const run = () => {}

  test.each<[string, object, RegExp]>([
    [
      'reconcile for a job that is retried anyway',
      { reconcile: () => 'ask' },
      /job "x": reconcile is for delivery "at-most-once"; an at-least-once job is retried/,
    ],
    [
      'retryUnsent for a job that is retried anyway',
      { retryUnsent: true },
      /job "x": retryUnsent is for delivery "at-most-once"/,
    ],
    [
      'a reconcile that is no function',
      { delivery: 'at-most-once', reconcile: 'ask' },
      /job "x": reconcile: expected a function, got "ask"/,
    ],
    [
      'a retryUnsent that is no yes or no',
      { delivery: 'at-most-once', retryUnsent: 'yes' },
      /job "x": retryUnsent: expected true or false, got "yes"/,
    ],
    [
      'a fingerprint that is none',
      { fingerprint: 'card declined' },
      /job "x": fingerprint: expected 1 to 64 letters, digits or : _ \. -.*got "card declined"/,
    ],
  ])('refuses %s', (_name, options, message) => {
    expect(() => defineJob({ name: 'x', run, ...options } as never)).toThrow(message)
  })

  test('takes a fingerprint, as text or as a function', () => {
    expect(defineJob({ name: 'x', run, fingerprint: 'declined' }).fingerprint).toBe('declined')
    expect(defineJob({ name: 'x', run, fingerprint: error => error.code }).fingerprint).toBeTypeOf('function')
  })
})
