import { describe, expect, test } from 'vitest'
import { RetryAfter } from '../../../src/core/failure/retry-after.js'
import { fixed } from '../../../src/core/policy/builders.js'
import { ChronosError } from '../../../src/core/values/error.js'
import { defineJob, type JobContext } from '../../../src/engine/client/definition.js'
import type { VirtualClock } from '../../../src/engine/time/virtual.js'
import type { Store } from '../../../src/store/store.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

/** A promise that virtual time keeps: resolves after `ms` on the test's clock, or rejects when the signal aborts. */

const retry = fixed({ delay: '1s', maxRetries: 3, jitter: 'none' })

describe.each(STORES)('delivery on %s', (_, store) => {
  test('R20: a job is at-least-once by default, and is retried until it succeeds', async () => {
    let starts = 0
    const flaky = defineJob({
      name: 'flaky',
      retry,
      run() {
        if (++starts < 4) throw new Error('no')
      },
    })
    await using t = testChronos({ jobs: [flaky], store })
    const { id } = await t.enqueue(flaky, {})
    expect(await t.jobs.get(id)).toMatchObject({ delivery: 'at-least-once' })
    await t.drain()
    expect(starts).toBe(4)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 4 })
  })

  test.each([
    ['a throw', () => Promise.reject(new Error('no')), 'failed'],
    ['a RetryAfter', () => Promise.reject(new RetryAfter(1)), 'failed'],
    ['a snooze', (job: JobContext) => Promise.resolve(job.snooze('1s')), 'failed'],
  ])('R21: at-most-once: %s ends it as failed, and it never starts again', async (_name, run, reason) => {
    let starts = 0
    const once = defineJob({
      name: 'once',
      delivery: 'at-most-once',
      retry,
      run(_payload: unknown, job) {
        starts++
        return run(job)
      },
    })
    await using t = testChronos({ jobs: [once], store })
    const { id } = await t.enqueue(once, {})
    await t.advance('1h')
    expect(starts).toBe(1)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason })
  })

  test('R21: at-most-once: a timeout ends it as unknown-outcome', async () => {
    let starts = 0
    const once = defineJob({
      name: 'once',
      delivery: 'at-most-once',
      timeout: '2s',
      async run(_payload: unknown, job) {
        starts++
        await t.clock.wait(60_000, job.signal)
      },
    })
    await using t = testChronos({ jobs: [once], store })
    const { id } = await t.enqueue(once, {})
    await t.advance('1h')
    expect(starts).toBe(1)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })
  })

  test('R21: a definition that is stricter than the enqueue wins', async () => {
    let starts = 0
    const once = defineJob({
      name: 'once',
      delivery: 'at-most-once',
      async run() {
        starts++
        throw new Error('no')
      },
    })
    await using t = testChronos({ jobs: [once], store })
    const { id } = await t.enqueue('once', {})
    await t.advance('1h')
    expect(starts).toBe(1)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'failed', delivery: 'at-most-once' })
  })

  test('stop: an at-most-once job that has begun ends as unknown-outcome, the others are released without using an attempt', async () => {
    const define = (name: string, delivery: 'at-least-once' | 'at-most-once') =>
      defineJob({ name, delivery, run: (_payload: unknown, job) => t.clock.wait(3_600_000, job.signal) })
    const jobs = [define('least', 'at-least-once'), define('most', 'at-most-once')]
    const t = testChronos({ jobs, store, work: { grace: '10s' } })
    const least = await t.enqueue(jobs[0]!, {})
    const most = await t.enqueue(jobs[1]!, {})
    await t.advance('1s')
    const stopping = t.worker.stop()
    await t.advance('12s')
    await stopping
    expect(await t.jobs.get(least.id)).toMatchObject({ state: 'waiting', attempt: 0 })
    expect(await t.jobs.get(most.id)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })
    const [released] = (await t.jobs.history(least.id)).data
    expect(released).toMatchObject({ status: 'released', run: 1, attempt: 1, note: 'the worker stopped' })
    await t.close()
  })

  test('R23: the key of a job is the same in all its attempts', async () => {
    const keys: string[] = []
    const job = defineJob({
      name: 'keyed',
      retry,
      async run(_payload: unknown, context) {
        keys.push(context.key)
        throw new Error('no')
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    expect(keys).toEqual([id, id, id, id])
    await t.enqueue(job, {}, { key: 'order:7' })
    await t.drain()
    expect(keys.slice(4)).toEqual(['order:7', 'order:7', 'order:7', 'order:7'])
  })

  test('R23: once runs an effect one time and remembers its result over attempts', async () => {
    let charges = 0
    const receipts: unknown[] = []
    const job = defineJob({
      name: 'charge',
      retry,
      async run(_payload: unknown, context) {
        receipts.push(await context.once('charge', async () => ({ receipt: ++charges })))
        if (context.attempt < 3) throw new Error('after the charge')
      },
    })
    await using t = testChronos({ jobs: [job], store })
    await t.enqueue(job, {})
    await t.drain()
    expect(charges).toBe(1)
    expect(receipts).toEqual([{ receipt: 1 }, { receipt: 1 }, { receipt: 1 }])
  })

  test('R23: an effect that throws is not remembered', async () => {
    let tries = 0
    const job = defineJob({
      name: 'charge',
      retry,
      run: (_payload: unknown, context) =>
        context.once('charge', () => {
          tries++
          if (tries < 3) throw new Error('declined')
          return tries
        }),
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    expect(tries).toBe(3)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 3 })
  })

  test('R23: an effect that may have happened fails if configured', async () => {
    const codes: unknown[] = []
    const job = defineJob({
      name: 'charge',
      retry: fixed({ delay: '1s', maxRetries: 1 }),
      async run(_payload: unknown, context) {
        await context
          .once(
            'charge',
            () => {
              throw new Error('cut off')
            },
            { whenUnknown: 'fail' },
          )
          .catch(error => {
            codes.push((error as { code?: string }).code ?? (error as Error).message)
            throw error
          })
      },
    })
    await using t = testChronos({ jobs: [job], store })
    await t.enqueue(job, {})
    await t.drain()
    expect(codes).toEqual(['cut off', 'EFFECT_UNKNOWN'])
  })

  test.each(['at-least-once', 'at-most-once'] as const)(
    'once records its effect after an outage of the store that is shorter than the lease: %s',
    async delivery => {
      let charges = 0
      const job = defineJob({
        name: 'charge',
        delivery,
        retry,
        run: (_payload: unknown, context) =>
          context.once('charge', () => {
            awayUntil = t.clock.now() + 20_000
            return ++charges
          }),
      })
      let awayUntil = 0
      const away =
        <A extends unknown[], R>(clock: VirtualClock, verb: (...args: A) => Promise<R>) =>
        (...args: A): Promise<R> =>
          clock.now() < awayUntil
            ? Promise.reject(new ChronosError('STORE_UNAVAILABLE', 'connection refused'))
            : verb(...args)
      const unsteady = (clock: VirtualClock): Store => {
        const all = store(clock)
        const { endEffect, extend, settle } = all
        return {
          ...all,
          endEffect: away(clock, endEffect),
          extend: away(clock, extend),
          settle: away(clock, settle),
        }
      }
      await using t = testChronos({ jobs: [job], store: unsteady, work: { lease: '30s' } })
      const { id } = await t.enqueue(job, {})
      await t.drain()
      expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 1 })
      expect(charges).toBe(1)
    },
  )

  test('once runs one effect for concurrent calls with the same name', async () => {
    let charges = 0
    const job = defineJob({
      name: 'charge',
      retry,
      run: (_payload: unknown, context) =>
        Promise.all([1, 2, 3].map(() => context.once('charge', async () => ++charges))),
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', result: [1, 1, 1] })
    expect(charges).toBe(1)
  })

  test('a snooze costs no attempt and says so', async () => {
    const attempts: number[] = []
    const job = defineJob({
      name: 'stock',
      retry,
      async run(_payload: unknown, context) {
        attempts.push(context.attempt)
        if (attempts.length < 4) return context.snooze('10s', 'not in stock')
        return 'sent'
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    expect(attempts).toEqual([1, 1, 1, 1])
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 1 })
    const { data } = await t.jobs.history(id)
    expect(data.map(one => [one.run, one.status, one.note])).toEqual([
      [4, 'succeeded', undefined],
      [3, 'snoozed', 'not in stock'],
      [2, 'snoozed', 'not in stock'],
      [1, 'snoozed', 'not in stock'],
    ])
  })
})
