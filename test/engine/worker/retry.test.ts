import { describe, expect, test } from 'vitest'
import { RetryAfter } from '../../../src/core/failure/retry-after.js'
import { fixed, list } from '../../../src/core/policy/builders.js'
import type { Policy } from '../../../src/core/policy/policy.js'
import { PermanentError } from '../../../src/core/values/error.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

class ValidationError extends Error {}

/** A job whose run n throws `failures[n]`, and that succeeds once they are used up. */
function failing(failures: readonly unknown[], options: Partial<Parameters<typeof defineJob>[0]> = {}) {
  const starts: number[] = []
  let now = (): number => 0
  const job = defineJob({
    name: 'failing',
    ...(options as object),
    async run() {
      const run = starts.push(now())
      if (run <= failures.length) throw failures[run - 1]
      return 'done'
    },
  })
  return {
    job,
    starts,
    timeline: () => starts.map(at => (at - starts[0]!) / 1000),
    use: (clock: () => number) => (now = clock),
  }
}

const boom = (count: number): Error[] => Array.from({ length: count }, (_, i) => new Error(`boom ${i + 1}`))

describe.each(STORES)('retries on %s', (_, store) => {
  test.each([
    [0, 1],
    [1, 2],
    [3, 4],
  ])('R6: maxRetries %i gives %i runs, then the job is dead and exhausted', async (maxRetries, runs) => {
    const { job, starts } = failing(boom(100), { retry: fixed({ delay: '1s', maxRetries }) })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    expect(starts).toHaveLength(runs)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'exhausted', attempt: runs, maxAttempts: runs })
  })

  test('R6: more than 1,000 retries are refused', () => {
    expect(() => fixed({ delay: '1s', maxRetries: 1001 })).toThrow(/maxRetries.*0 to 1000.*1001/)
  })

  test('R2: the http preset runs at T+0, +1, +3 and +7', async () => {
    const { job, timeline, use } = failing(boom(9), { retry: 'http' })
    await using t = testChronos({ jobs: [job], store })
    use(() => t.clock.now())
    await t.enqueue(job, {})
    await t.drain()
    expect(timeline()).toEqual([0, 1, 3, 7])
  })

  test.each<[string, Partial<Policy>, number[]]>([
    ['exponential', { backoff: { type: 'exponential', base: '1s' } }, [0, 1, 3, 7]],
    ['linear', { backoff: { type: 'linear', base: '1s' } }, [0, 1, 3, 6]],
    ['fixed', { backoff: { type: 'fixed', delay: '1s' } }, [0, 1, 2, 3]],
    ['fibonacci', { backoff: { type: 'fibonacci', base: '1s' } }, [0, 1, 2, 4]],
    ['a list', { backoff: { type: 'list', delays: ['30s', '60s', '120s'] } }, [0, 30, 90, 210]],
  ])('R1: %s backoff waits as it says', async (_name, policy, expected) => {
    const { job, timeline, use } = failing(boom(9), { retry: { maxRetries: 3, jitter: 'none', ...policy } })
    await using t = testChronos({ jobs: [job], store })
    use(() => t.clock.now())
    await t.enqueue(job, {})
    await t.drain()
    expect(timeline()).toEqual(expected)
  })

  test('R1: a custom backoff is a function of the worker, called by its name', async () => {
    const { job, timeline, use } = failing(boom(9), {
      retry: { maxRetries: 5, jitter: 'none', backoff: { type: 'custom', name: 'squares' } },
    })
    const squares = ({ retry }: { retry: number }): number | null => (retry > 3 ? null : retry ** 2 * 1000)
    await using t = testChronos({ jobs: [job], store, backoffs: { squares } })
    use(() => t.clock.now())
    const { id } = await t.enqueue(job, {})
    await t.drain()
    expect(timeline()).toEqual([0, 1, 5, 14])
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'exhausted' })
  })

  test('R4: the default is standard: 3 retries around 1, 2 and 4 minutes, ±20 %', async () => {
    const { job, use, starts } = failing(boom(9))
    await using t = testChronos({ jobs: [job], store })
    use(() => t.clock.now())
    await t.enqueue(job, {})
    await t.drain()
    const waits = starts.slice(1).map((at, i) => (at - starts[i]!) / 60_000)
    expect(waits).toHaveLength(3)
    for (const [i, base] of [1, 2, 4].entries()) {
      expect(waits[i]).toBeGreaterThanOrEqual(base * 0.8)
      expect(waits[i]).toBeLessThanOrEqual(base * 1.2)
    }
  })

  test('R3: 100 jobs that fail together spread over the jitter window', async () => {
    const starts: number[] = []
    const job = defineJob({
      name: 'together',
      retry: { maxRetries: 1 },
      async run() {
        starts.push(t.clock.now())
        throw new Error('down')
      },
    })
    const t = testChronos({ jobs: [job], store, work: { concurrency: 200 } })
    await t.enqueueMany(
      job,
      Array.from({ length: 100 }, () => ({})),
    )
    await t.drain()
    const failedAt = starts[0]!
    const retries = starts.slice(100).map(at => (at - failedAt) / 1000)
    expect(Math.min(...retries)).toBeGreaterThanOrEqual(48)
    expect(Math.max(...retries)).toBeLessThanOrEqual(72)
    expect(Math.max(...retries) - Math.min(...retries)).toBeGreaterThan(18)
    await t.close()
  })

  test('R5: the job overrides its definition, the definition the queue, the queue the instance', async () => {
    const runs: Record<string, number> = {}
    const define = (name: string, retry?: number, queue = 'default') =>
      defineJob({
        name,
        queue,
        ...(retry !== undefined && { retry: { maxRetries: retry } }),
        async run() {
          runs[name] = (runs[name] ?? 0) + 1
          throw new Error('no')
        },
      })
    const jobs = [
      define('instance'),
      define('queue', undefined, 'q'),
      define('definition', 3, 'q'),
      define('own', 3, 'q'),
    ]
    await using t = testChronos({
      jobs,
      store,
      retry: fixed({ delay: '1s', maxRetries: 1 }),
      queues: { q: { retry: { maxRetries: 2 } } },
    })
    for (const job of jobs) await t.enqueue(job, {}, job.name === 'own' ? { retry: { maxRetries: 4 } } : {})
    await t.drain()
    expect(runs).toEqual({ instance: 2, queue: 3, definition: 4, own: 5 })
  })

  test('R5: the short names of an enqueue, an instance and a worker are understood', async () => {
    const { job, timeline, use } = failing(boom(9))
    const own = { maxRetries: 2, retryDelay: 5000, useExponentialBackoff: false }
    await using t = testChronos({ jobs: [job], store, jitterEnabled: false, baseRetryDelay: 1000, maxRetries: 1 })
    use(() => t.clock.now())
    await t.enqueue(job, {}, { retry: own })
    await t.drain()
    expect(timeline()).toEqual([0, 5, 10])
  })

  test('R5: a worker overrides the instance', async () => {
    const { job, timeline, use } = failing(boom(9))
    const work = { maxRetries: 2, baseRetryDelay: 2000, retryStrategy: 'linear', jitterEnabled: false } as const
    await using t = testChronos({ jobs: [job], store, work, retry: 'patient' })
    use(() => t.clock.now())
    await t.enqueue(job, {})
    await t.drain()
    expect(timeline()).toEqual([0, 2, 6])
  })

  test("R5: a queue's policy can be changed while it runs", async () => {
    const { job, starts } = failing(boom(99))
    await using t = testChronos({ jobs: [job], store, retry: fixed({ delay: '10s', maxRetries: 1 }) })
    await t.queues.set('default', { retry: { maxRetries: 4 } })
    await t.advance('5s')
    await t.enqueue(job, {})
    await t.drain()
    expect(starts).toHaveLength(5)
  })

  test('R8: a dead job is never claimed again, and runs again only when asked', async () => {
    const { job, starts } = failing(boom(1), { retry: 'none' })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.advance('2h')
    expect(starts).toHaveLength(1)
    expect((await t.jobs.get(id))?.state).toBe('dead')
    const again = await t.jobs.retry(id)
    expect(again).toMatchObject({ id, state: 'waiting', attempt: 0, generation: 2 })
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 'done', generation: 2, attempt: 1 })
    const { data } = await t.jobs.history(id)
    expect(data.map(({ run, generation, status }) => [run, generation, status])).toEqual([
      [2, 2, 'succeeded'],
      [1, 1, 'failed'],
    ])
  })

  test.each([
    ['a ValidationError', new ValidationError('bad')],
    ['a PermanentError', new PermanentError('card declined')],
    ['a SyntaxError', new SyntaxError('x')],
    ['an error with status 404', Object.assign(new Error('x'), { status: 404 })],
    ['one of them as the cause', new Error('wrapped', { cause: new PermanentError('inner') })],
  ])('R9: %s fails at once', async (_name, error) => {
    const { job, starts } = failing([error], { retry: fixed({ delay: '1s', maxRetries: 3 }) })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    expect(starts).toHaveLength(1)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'permanent' })
  })

  test('R9: rules of the instance decide by name, code, status and predicate', async () => {
    const errors = [
      Object.assign(new Error('a'), { code: 'E_FATAL' }),
      Object.assign(new Error('b'), { status: 507 }),
      Object.assign(new Error('c'), { custom: true }),
      Object.assign(new Error('d'), { name: 'Hopeless' }),
    ]
    const rules = [
      { when: { code: 'E_FATAL' }, as: 'permanent' },
      { when: { status: 507 }, as: 'permanent' },
      { when: { predicate: (error: unknown) => (error as { custom?: boolean }).custom === true }, as: 'permanent' },
      { when: { name: 'Hopeless' }, as: 'permanent' },
    ] as const
    for (const error of errors) {
      const { job, starts } = failing([error], { retry: fixed({ delay: '1s', maxRetries: 3 }) })
      await using t = testChronos({ jobs: [job], store, rules })
      const { id } = await t.enqueue(job, {})
      await t.drain()
      expect(starts).toHaveLength(1)
      const [attempt] = (await t.jobs.history(id)).data
      expect(attempt?.decision).toMatchObject({ action: 'die', kind: 'permanent' })
      expect(attempt?.decision?.rule).toContain('rule')
    }
  })

  test.each([
    ['past the cap', '2h', 7_200_000],
    ['without jitter on top', '1s', 1_000],
    ['for 24 h at most', '3d', 86_400_000],
  ])('RetryAfter waits exactly as long as the other side asked for, %s', async (_, asked, waitedMs) => {
    const { job, starts, use } = failing([new RetryAfter(asked)], {
      retry: { maxRetries: 1, backoff: { type: 'fixed', delay: '1s' }, jitter: 0.5, cap: '1m' },
    })
    await using t = testChronos({ jobs: [job], store })
    use(() => t.clock.now())
    await t.enqueue(job, {})
    await t.drain()
    expect(starts[1]! - starts[0]!).toBe(waitedMs)
  })

  test.each([
    ['exact', {}, [0, 30, 90, 210]],
    ['exact below an instance with jitter', { retry: { jitter: 'full' } as const }, [0, 30, 90, 210]],
  ])('R53: the delays of a list are %s', async (_, options, expected) => {
    const { job, timeline, use } = failing(boom(9), { retry: list(['30s', '60s', '120s']) })
    await using t = testChronos({ jobs: [job], store, ...options })
    use(() => t.clock.now())
    await t.enqueue(job, {})
    await t.drain()
    expect(timeline()).toEqual(expected)
  })

  test('R53: jitter on the list, or above it, spreads its delays', async () => {
    const { job } = failing(boom(9), { retry: list(['30s'], { jitter: 0.2 }) })
    await using t = testChronos({ jobs: [job], store })
    const own = await t.enqueue(job, {})
    const asked = await t.enqueue(job, {}, { retry: { jitter: 'equal' } })
    await t.drain()
    for (const [id, windowMs] of [
      [own.id, [24_000, 36_000]],
      [asked.id, [15_000, 30_000]],
    ] as const) {
      expect((await t.jobs.history(id)).data.at(-1)?.decision).toMatchObject({ windowMs })
    }
  })

  test('R10: each run is its own record, with its number, its error and the delay that followed', async () => {
    const { job } = failing(boom(2), { retry: list(['30s', '60s']) })
    await using t = testChronos({ jobs: [job], store, retry: { jitter: 'none' } })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    const { data } = await t.jobs.history(id)
    expect(data.map(({ label, status, delayMs, error }) => [label, status, delayMs, error?.message])).toEqual([
      ['Retry #2', 'succeeded', undefined, undefined],
      ['Retry #1', 'failed', 60_000, 'boom 2'],
      ['Initial', 'failed', 30_000, 'boom 1'],
    ])
    const initial = data.at(-1)!
    expect(initial.workerId).toBe(t.worker.id)
    expect(Date.parse(initial.nextRunAt!) - Date.parse(initial.finishedAt)).toBe(30_000)
    expect(initial.decision?.why).toMatch(/retry 1 of 2 in 30s/)
  })

  test('maxElapsed: a retry that would start too late is not made', async () => {
    const { job, starts } = failing(boom(9), { retry: fixed({ delay: '10s', maxRetries: 9 }), maxElapsed: '25s' })
    await using t = testChronos({ jobs: [job], store, retry: { jitter: 'none' } })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    expect(starts).toHaveLength(3)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'too-old' })
  })
})
