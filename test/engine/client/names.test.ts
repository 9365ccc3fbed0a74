import { describe, expect, test } from 'vitest'
import { PRESETS } from '../../../src/core/policy/presets.js'
import { ChronosError } from '../../../src/core/values/error.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import type { GivenLog } from '../../../src/engine/client/log.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const fail = (): never => {
  throw new Error('SMTP timeout')
}
const critical = defineJob({ name: 'Critical Task', run: fail })
const SHORT = { maxRetries: 2, retryDelay: 30_000, useExponentialBackoff: false } as const
const LEVEL = { maxRetries: 2, backoff: { type: 'fixed', delay: 30_000 } }

describe.each(STORES)('the names of other systems on %s', (_, store) => {
  test('R54: an enqueue takes maxRetries, retryDelay and useExponentialBackoff, in milliseconds', async () => {
    await using t = testChronos({ jobs: [critical], store, jitterEnabled: false })
    const { id } = await t.enqueue(critical, undefined, SHORT)
    const { id: growing } = await t.enqueue(critical, undefined, { ...SHORT, useExponentialBackoff: true })
    await t.drain()
    const delays = async (of: string): Promise<unknown> =>
      (await t.jobs.history(of, { order: 'oldest' })).data.map(({ delayMs }) => delayMs)
    expect(await delays(id)).toEqual([30_000, 30_000, undefined])
    expect(await delays(growing)).toEqual([30_000, 60_000, undefined])
    expect(await t.jobs.get(id)).toMatchObject({ name: 'Critical Task', state: 'dead', retry: LEVEL })
  })

  test('R54: so do a definition and a schedule', async () => {
    const own = defineJob({ name: 'own', ...SHORT, run: fail })
    await using t = testChronos({ jobs: [own], store })
    const { id } = await t.enqueue(own)
    expect(await t.jobs.get(id)).toMatchObject({ maxAttempts: 3, retry: LEVEL })
    const put = await t.chronos.schedules.put('s', { every: '1h', job: 'Critical Task', ...SHORT })
    expect(put).toMatchObject({ job: 'Critical Task', retry: LEVEL })
  })

  test('R54: a name with spaces is counted, charted and found', async () => {
    await using t = testChronos({ jobs: [critical], store })
    const { id } = await t.enqueue(critical, undefined, { maxRetries: 0 })
    await t.drain()
    expect((await t.jobs.list({ name: 'Critical Task' })).data).toMatchObject([{ id }])
    await t.advance('2m')
    const { points } = await t.chronos.series({ name: 'Critical Task' })
    expect(points.reduce((sum, { enqueued }) => sum + enqueued, 0)).toBe(1)
  })

  test('R55: a view has retryCount and lastError, and while the job runs lockedBy and lockedUntil', async () => {
    const seen: unknown[] = []
    const look = async (id: string): Promise<void> => {
      const [listed] = (await t.jobs.list({ name: 'look' })).data
      expect(await t.jobs.get(id)).toEqual(listed)
      seen.push(listed)
    }
    const job = defineJob({ name: 'look', ...SHORT, maxRetries: 1, run: (_payload, { id }) => look(id).then(fail) })
    await using t = testChronos({ jobs: [job], store, jitterEnabled: false })
    const { id } = await t.enqueue(job, undefined, { delay: '10s' })
    const start = t.clock.now() + 10_000
    await look(id)
    await t.advance('20s')
    await look(id)
    await t.drain()
    await look(id)
    const [worker] = new Set(seen.map(view => (view as { lockedBy?: string }).lockedBy).filter(by => by !== undefined))
    const lastError = 'SMTP timeout'
    const locked = (at: number) => ({
      state: 'running',
      lockedBy: worker,
      lockedUntil: new Date(start + at + 30_000).toISOString(),
    })
    expect(worker).toBeTypeOf('string')
    expect(seen).toMatchObject([
      { state: 'waiting', retryCount: 0 },
      { ...locked(0), retryCount: 0 },
      { state: 'waiting', retryCount: 1, lastError },
      { ...locked(30_000), retryCount: 1, lastError },
      { state: 'dead', retryCount: 1, lastError, error: { name: 'Error', message: lastError } },
    ])
    for (const index of [0, 2, 4]) expect(seen[index]).not.toHaveProperty('lockedBy')
    for (const index of [0, 1]) expect(seen[index]).not.toHaveProperty('lastError')
  })
})

const problem = async (act: () => unknown): Promise<string> => {
  try {
    await act()
  } catch (error) {
    expect(error).toBeInstanceOf(ChronosError)
    return (error as Error).message
  }
  throw new Error('nothing was refused')
}

describe('two ways to say the same', () => {
  test('retry and a short name are refused together, on a job, a definition and a schedule', async () => {
    await using t = testChronos({ jobs: [] })
    const both = { retry: 'http', maxRetries: 5, retryDelay: 1 } as const
    const why = 'give retry or maxRetries, retryDelay, not both'
    expect(await problem(() => t.enqueue('mail', {}, both))).toBe(`enqueue "mail": ${why}`)
    expect(await problem(() => defineJob({ name: 'mail', ...both, run: fail }))).toBe(`job "mail": ${why}`)
    const put = () => t.chronos.schedules.put('s', { every: '1h', job: 'mail', ...both })
    expect(await problem(put)).toBe(`schedule "s": ${why}`)
  })

  test('an invalid value names its option', async () => {
    await using t = testChronos({ jobs: [] })
    expect(await problem(() => t.enqueue('mail', {}, { maxRetries: -1 }))).toBe(
      'enqueue "mail": maxRetries: expected a whole number from 0 to 1000, got -1',
    )
  })
})

describe('names of jobs', () => {
  test.each(['a b', 'Critical Task', 'a  b', 'a: b/c'])('%j is accepted', async name => {
    await using t = testChronos({ jobs: [] })
    const { id } = await t.enqueue(name)
    expect(await t.jobs.get(id)).toMatchObject({ name })
  })

  test.each([' a', 'a ', ' ', 'a\tb', 'a\nb', 'a\u00a0b'])('%j is refused', async name => {
    await using t = testChronos({ jobs: [] })
    expect(await problem(() => t.enqueue(name))).toMatch(
      /^enqueue: name: expected 1 to 128 letters, digits, spaces or /,
    )
  })

  test('names of queues have no spaces', async () => {
    await using t = testChronos({ jobs: [] })
    expect(await problem(() => t.enqueue('a', {}, { queue: 'a b' }))).toMatch(/^enqueue "a": queue: expected 1 to 128 /)
  })
})

describe('R54: the instance takes MaxRetries, RetryBackoffBaseMS and RetryBackoffMaxMS', () => {
  const { queue, financial, lowLatency } = PRESETS
  test.each([
    [{ MaxRetries: 5, RetryBackoffBaseMS: 1_000, RetryBackoffMaxMS: 60_000 }, financial],
    [{ MaxRetries: 2, RetryBackoffBaseMS: 100, RetryBackoffMaxMS: 5_000 }, lowLatency],
    [{ MaxRetries: 0 }, { ...queue, maxRetries: 0 }],
    [{ RetryBackoffBaseMS: 50 }, { ...queue, backoff: { type: 'exponential', base: '50ms' } }],
  ] as const)('%j', async (options, policy) => {
    await using t = testChronos({ jobs: [], ...options })
    const { id } = await t.enqueue('mail')
    const { maxRetries, jitter } = policy
    expect(await t.jobs.get(id)).toMatchObject({ maxRetries, retry: { maxRetries, jitter } })
    const preview = (await t.jobs.get(id))!.retry
    expect(ms(preview)).toEqual(ms(policy))
  })

  test.each([
    [{ MaxRetries: 1, retry: 'http' as const }, 'createChronos: give retry or MaxRetries, not both'],
    [{ MaxRetries: 1, maxRetries: 1 }, 'give "MaxRetries" or "maxRetries", not both'],
    [{ RetryBackoffBaseMS: 1, jitterFactor: 0.1 }, 'give "RetryBackoffBaseMS" or "jitterFactor", not both'],
    [{ RetryBackoffMaxMS: -1 }, 'RetryBackoffMaxMS: expected a whole number from 0 to '],
  ])('%j is refused', async (options, why) => {
    expect(await problem(() => testChronos({ jobs: [], ...options }))).toContain(why)
  })
})

/** Its delays in milliseconds, whatever their unit. */
function ms({ backoff, cap }: { readonly backoff: unknown; readonly cap?: unknown }): unknown {
  const inMs = (given: unknown): unknown => {
    const [, number, unit] = /^(\d+)(ms|s)$/.exec(String(given)) ?? []
    return number === undefined ? given : Number(number) * (unit === 's' ? 1_000 : 1)
  }
  const { type, base } = backoff as { readonly type: string; readonly base: unknown }
  return [type, inMs(base), inMs(cap)]
}

test.each([
  ['conservative', PRESETS.financial],
  ['aggressive', PRESETS.lowLatency],
  ['one-shot', PRESETS.none],
] as const)('R54: the preset %s', async (name, policy) => {
  await using t = testChronos({ jobs: [] })
  const { id } = await t.enqueue('mail', {}, { retry: name })
  expect(await t.jobs.get(id)).toMatchObject({ retry: policy, maxRetries: policy.maxRetries })
})

describe('at-most-once jobs with maxRetries', () => {
  const warning = 'an at-most-once job runs once and is never retried, so maxRetries 3 has no effect'
  const once = { delivery: 'at-most-once' } as const

  test('R6: a schedule returns a warning when it is put', async () => {
    await using t = testChronos({ jobs: [] })
    const { schedules } = t.chronos
    const timed = { every: '1h', job: 'charge' } as const
    expect(await schedules.put('a', { ...timed, ...once, maxRetries: 3 })).toMatchObject({ warnings: [warning] })
    expect(await schedules.get('a')).not.toHaveProperty('warnings')
    for (const quiet of [{ maxRetries: 3 }, once, { ...once, maxRetries: 0 }])
      expect(await schedules.put('b', { ...timed, ...quiet })).not.toHaveProperty('warnings')
    const job = defineJob({ name: 'charge', ...once, retryUnsent: true, run: fail })
    expect(await schedules.put('c', { every: '1h', job, maxRetries: 3 })).not.toHaveProperty('warnings')
  })

  test('R6: a definition is reported once in the log of its worker', async () => {
    const lines: unknown[] = []
    const note = (fields: object, message: string): void => void lines.push([fields, message])
    const none = (): void => {}
    const log = { debug: none, info: none, warn: note as GivenLog['warn'], error: none }
    const run = (): void => {}
    const jobs = [
      defineJob({ name: 'charge', ...once, maxRetries: 3, run }),
      defineJob({ name: 'unsent', ...once, maxRetries: 3, retryUnsent: true, run }),
      defineJob({ name: 'plain', ...once, run }),
      defineJob({ name: 'often', maxRetries: 3, run }),
    ]
    await using t = testChronos({ jobs, log })
    for (const job of [...jobs, ...jobs]) await t.enqueue(job)
    await t.drain()
    const fields = { event: 'retries.unused', name: 'charge', maxRetries: 3 }
    expect(lines).toEqual([[fields, 'job is at-most-once, ignoring maxRetries']])
  })
})
