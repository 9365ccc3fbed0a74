import { describe, expect, expectTypeOf, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { PermanentError } from '../../../src/core/values/error.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { storeProxy } from '../../../src/engine/time/store-proxy.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import type { Store } from '../../../src/store/store.js'
import { STORES } from '../../support/stores.js'

const retry = fixed({ delay: '10s', maxRetries: 2, jitter: 'none' })

let failures = 0
const total = defineJob({
  name: 'total',
  retry,
  async run({ cents, fails = 0 }: { cents: number; fails?: number }) {
    if (failures++ < fails) throw new Error('the bank is closed')
    return { total: cents * 2 }
  },
})
const refused = defineJob({
  name: 'refused',
  async run(_: null) {
    throw new PermanentError('card declined')
  },
})
const slow = defineJob({ name: 'slow', run: (_: null, job) => job.clock.wait('1h') })
const once = defineJob({
  name: 'once',
  delivery: 'at-most-once',
  timeout: '5s',
  run: (_: null, job) => job.clock.wait('1h'),
})

/** Two processes on one store: one has the worker, the other waits and counts its queries. */
function world(open: (clock: VirtualClock) => Store) {
  failures = 0
  const clock = new VirtualClock()
  const store = open(clock)
  const shared = { ...store, close: async () => undefined }
  const queries: string[] = []
  const counted = storeProxy(shared, (name, verb) => (...given) => {
    queries.push(name)
    return verb(...given)
  })
  const there = new Chronos(async () => shared, clock, seededDice(1), { log: false })
  const here = new Chronos(async () => counted, clock, seededDice(2), { log: false })
  there.work([total, refused, slow, once], { signals: false, grace: '1s' })
  return {
    clock,
    here,
    there,
    queries,
    pass: <T>(promise: Promise<T>): Promise<T> => clock.passUntil(promise),
    async [Symbol.asyncDispose]() {
      await clock.passUntil(Promise.all([here.close(), there.close()]), { despite: 'handlers' })
      await store.close()
    },
  }
}

describe.each(STORES)('jobs.result on %s', (_, open) => {
  test('returns what the handler in another process returned, with its type', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(total, { cents: 21 })
    const result = await w.pass(w.here.jobs.result(total, id))
    expectTypeOf(result).toEqualTypeOf<{ total: number }>()
    expect(result).toEqual({ total: 42 })
    // @ts-expect-error: the definition names the fields of the result
    expect(result.sum).toBeUndefined()
    expect(await w.pass(w.here.jobs.result('total', id))).toEqual({ total: 42 })
  })

  test('waits for the retries of a job', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(total, { cents: 1, fails: 2 })
    const since = w.clock.now()
    expect(await w.pass(w.here.jobs.result(total, id))).toEqual({ total: 2 })
    expect(w.clock.now() - since).toBeGreaterThanOrEqual(20_000)
    expect(w.clock.now() - since).toBeLessThan(22_000)
  })

  test('a dead job is an error with its reason, its last error and the decision', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(refused, null)
    const error = await w.pass(w.here.jobs.result(refused, id).catch(thrown => thrown))
    expect(error).toMatchObject({
      code: 'JOB_DEAD',
      message: expect.stringContaining(`job ${id} ("refused") died (permanent) after 1 attempt: PermanentError: card`),
      details: {
        jobId: id,
        reason: 'permanent',
        attempts: 1,
        error: { name: 'PermanentError', message: 'card declined' },
        decision: { action: 'die', why: expect.stringContaining('') },
      },
    })
  })

  test('an unknown outcome is not a failure: it has its own code', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(once, null)
    const error = await w.pass(w.here.jobs.result(once, id).catch(thrown => thrown))
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { reason: 'unknown-outcome' } })
    expect(error.message).toContain('may or may not have been done')
  })

  test('a cancelled job is an error, and so is one that is deleted while it is awaited', async () => {
    await using w = world(open)
    const cancelled = await w.here.enqueue(slow, null, { delay: '1h' })
    const deleted = await w.here.enqueue(slow, null, { delay: '1h' })
    const errors = Promise.all(
      [cancelled, deleted].map(({ id }) => w.here.jobs.result(slow, id).catch((error: unknown) => error)),
    )
    await w.clock.advance(1_000)
    await w.there.jobs.cancel(cancelled.id)
    await w.there.jobs.delete(deleted.id)
    expect(await w.pass(errors)).toMatchObject([
      { code: 'JOB_CANCELLED', details: { jobId: cancelled.id } },
      { code: 'NOT_FOUND', message: `there is no job ${deleted.id}; it was deleted, or pruned after its retention` },
    ])
  })

  test('an id that never existed is an error at once', async () => {
    await using w = world(open)
    const unknown = '01890000-0000-7000-8000-000000000000'
    const since = w.clock.now()
    for (const id of [unknown, 'no-id']) {
      const error = await w.pass(w.here.jobs.result('total', id).catch(thrown => thrown))
      expect(error).toMatchObject({ code: 'NOT_FOUND', details: { jobId: id } })
    }
    expect(w.clock.now()).toBe(since)
  })

  test('a timeout and an abort end the wait, and leave the job alone', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(total, { cents: 1 }, { delay: '1m' })
    const late = await w.pass(w.here.jobs.result(total, id, { within: '30s' }).catch(thrown => thrown))
    expect(late).toMatchObject({ code: 'TIMED_OUT', details: { jobId: id, withinMs: 30_000 } })
    expect(late.message).toBe(`job ${id} has not ended within 30s; it goes on without you`)

    const stop = new AbortController()
    const aborted = w.here.jobs.result(total, id, { signal: stop.signal }).catch((error: unknown) => error)
    await w.clock.advance(5_000)
    const reason = new Error('the browser has left')
    stop.abort(reason)
    expect(await aborted).toBe(reason)
    expect(await w.pass(w.here.jobs.result(total, id))).toEqual({ total: 2 })
  })

  test('refuses the result of another kind of job, a wrong option, and any result after close', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(total, { cents: 1 })
    await expect(w.pass(w.here.jobs.result(slow, id))).rejects.toThrow(`job ${id} is a "total", not a "slow"`)
    // @ts-expect-error: within is a duration
    await expect(w.here.jobs.result(total, id, { within: true })).rejects.toMatchObject({ code: 'INVALID_DURATION' })
    const { id: later } = await w.here.enqueue(total, { cents: 1 }, { delay: '1m' })
    const pending = w.here.jobs.result(total, later).catch((error: unknown) => error)
    await w.pass(w.here.close())
    expect(await pending).toMatchObject({ code: 'CLOSED' })
  })

  test('a job that ends in this process is answered without a look at the time', async () => {
    await using w = world(open)
    const { id } = await w.there.enqueue(total, { cents: 4 })
    const since = w.clock.now()
    expect(await w.pass(w.there.jobs.result(total, id))).toEqual({ total: 8 })
    expect(w.clock.now()).toBe(since)
  })

  test('a thousand waiters share one query, at most four a second, and all learn the end within a second', async () => {
    await using w = world(open)
    const jobs = await w.here.enqueueMany(
      total,
      Array.from({ length: 1_000 }, (_, i) => ({ cents: i })),
      (_, i) => ({ delay: 60_000 + (i % 10) * 1_000 }),
    )
    const startedAt = w.clock.now()
    const late: number[] = []
    const results = jobs.map(async ({ id }, i) => {
      const result = await w.here.jobs.result(total, id)
      late.push(w.clock.now() - startedAt - (60_000 + (i % 10) * 1_000))
      return result
    })
    w.queries.length = 0
    await w.clock.advance(60_000 - 1)
    // Two looks a second, and one check every five seconds that the jobs exist, beside a few at the beginning.
    expect(w.queries.length).toBeLessThanOrEqual(6 + 60 * 2.2)
    expect(w.queries.length).toBeGreaterThanOrEqual(60)
    const all = await w.pass(Promise.all(results))
    expect(all.map(({ total }) => total)).toEqual(jobs.map((_, i) => i * 2))
    expect(Math.max(...late)).toBeLessThanOrEqual(1_000)
    const seconds = (w.clock.now() - startedAt) / 1_000
    expect(w.queries.length).toBeLessThanOrEqual(6 + seconds * 4)
    w.queries.length = 0
    await w.clock.advance(60_000)
    expect(w.queries).toEqual([])
  })

  test('new waiters all the time make no more queries than four a second', async () => {
    await using w = world(open)
    const { id } = await w.here.enqueue(slow, null, { delay: '1d' })
    w.queries.length = 0
    for (let i = 0; i < 500; i++) {
      void w.here.jobs.result(slow, id, { within: '30s' }).catch(() => undefined)
      await w.clock.advance(20)
    }
    expect(w.queries.length).toBeLessThanOrEqual(6 + 10 * 4 + 1)
  })

  test('a handler waits for another job, and virtual time passes meanwhile', async () => {
    await using w = world(open)
    const parent = defineJob({
      name: 'parent',
      queue: 'parents',
      run: async ({ id }: { id: string }): Promise<number> => (await w.there.jobs.result(total, id)).total,
    })
    w.there.work([parent], { signals: false })
    const { id: child } = await w.here.enqueue(total, { cents: 3 }, { delay: '1m' })
    const { id } = await w.here.enqueue(parent, { id: child }, { timeout: '2h' })
    expect(await w.pass(w.here.jobs.result(parent, id))).toBe(6)
  })

  test('goes on waiting while the store is unavailable', async () => {
    const clock = new VirtualClock()
    const store = open(clock)
    let isDown = false
    const flaky = storeProxy(store, (name, verb) => (...given) => {
      if (isDown && (name === 'list' || name === 'count')) return Promise.reject(new Error('connection reset'))
      return verb(...given)
    })
    const chronos = new Chronos(async () => flaky, clock, seededDice(1), { log: false })
    const { id } = await chronos.enqueue(total, { cents: 5 })
    const result = chronos.jobs.result(total, id)
    await clock.advance(1_000)
    isDown = true
    chronos.work([total], { signals: false })
    await clock.advance(10_000)
    isDown = false
    expect(await clock.passUntil(result)).toEqual({ total: 10 })
    await clock.passUntil(chronos.close())
  })
})
