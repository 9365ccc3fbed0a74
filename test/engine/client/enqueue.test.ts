import { describe, expect, test } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const noop = defineJob({ name: 'noop', run: async (_payload: unknown) => undefined })

describe.each(STORES)('enqueue on %s', (_, store) => {
  test('R22: one key gives one job, and both callers get its id', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const [a, b] = await Promise.all([t.enqueue(noop, { n: 1 }, { key: 'k' }), t.enqueue(noop, { n: 1 }, { key: 'k' })])
    expect(a.id).toBe(b.id)
    expect([a.status, b.status].sort()).toEqual(['created', 'existing'])
    await t.drain()
    expect(await t.enqueue(noop, { n: 1 }, { key: 'k' })).toEqual({ id: a.id, status: 'existing' })
  })

  test('R22: the order of keys in a payload makes no other payload', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const a = await t.enqueue(noop, { x: 1, y: 2 }, { key: 'k' })
    expect(await t.enqueue(noop, { y: 2, x: 1 }, { key: 'k' })).toEqual({ id: a.id, status: 'existing' })
  })

  test('R22: another payload under the same key is a conflict that names both', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const { id } = await t.enqueue(noop, { n: 1 }, { key: 'k' })
    await expect(t.enqueue(noop, { n: 2 }, { key: 'k' })).rejects.toMatchObject({
      code: 'KEY_CONFLICT',
      message: expect.stringMatching(new RegExp(`key "k" of job "noop" belongs to job ${id}.*this one`)),
    })
  })

  test('R22: a key is per tenant and per job name', async () => {
    const other = defineJob({ name: 'other', run: async (_payload: unknown) => undefined })
    await using t = testChronos({ jobs: [noop, other], store })
    const ids = await Promise.all([
      t.enqueue(noop, 1, { key: 'k' }),
      t.enqueue(noop, 2, { key: 'k', tenantId: 'acme' }),
      t.enqueue(other, 3, { key: 'k' }),
    ])
    expect(new Set(ids.map(one => one.id)).size).toBe(3)
  })

  test('unique: one live job per value; free again when it has ended', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const a = await t.enqueue(noop, 1, { unique: 'u', delay: '1m' })
    expect(await t.enqueue(noop, 2, { unique: 'u' })).toEqual({ id: a.id, status: 'existing' })
    await t.drain()
    expect((await t.enqueue(noop, 3, { unique: 'u' })).status).toBe('created')
  })

  test('R13: never before its time, and the higher priority first among those that are due', async () => {
    const order: string[] = []
    const job = defineJob({
      name: 'ordered',
      async run(label: string) {
        order.push(label)
      },
    })
    await using t = testChronos({ jobs: [job], store, work: { concurrency: 1 } })
    await t.queues.pause('default')
    await t.enqueue(job, 'low', { priority: 0 })
    await t.enqueue(job, 'normal')
    await t.enqueue(job, 'high', { priority: 9 })
    await t.enqueue(job, 'future', { priority: 9, delay: '10m' })
    await t.enqueue(job, 'second normal', { runAt: t.now() })
    await t.queues.resume('default')
    await t.advance('9m')
    expect(order).toEqual(['high', 'normal', 'second normal', 'low'])
    await t.advance('1m')
    expect(order.at(-1)).toBe('future')
  })

  test('deadline: a job that could not start in time is dead and expired', async () => {
    let runs = 0
    const job = defineJob({
      name: 'late',
      async run() {
        runs++
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {}, { delay: '10m', deadline: '5m' })
    await t.drain()
    expect(runs).toBe(0)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'expired' })
  })

  test('warns that an at-most-once job ignores maxRetries, unless its definition can retry safely', async () => {
    const once = defineJob({ name: 'once', delivery: 'at-most-once', run: async (_: unknown) => undefined })
    const unsent = defineJob({
      name: 'unsent',
      delivery: 'at-most-once',
      retryUnsent: true,
      run: async () => undefined,
    })
    await using t = testChronos({ jobs: [once, unsent], store })
    const warnings = ['an at-most-once job runs once and is never retried, so maxRetries 3 has no effect']
    const retry = { maxRetries: 3 }
    const made = await t.enqueue(once, {}, { retry })
    expect(made.warnings).toEqual(warnings)
    expect(await t.jobs.get(made.id)).toMatchObject({ maxRetries: 0, maxAttempts: 1 })
    expect((await t.enqueue('by-name', {}, { retry: 'http', delivery: 'at-most-once' })).warnings).toEqual(warnings)
    expect(await t.enqueueMany(once, [1], { retry })).toMatchObject([{ status: 'created', warnings }])
    for (const quiet of [
      await t.enqueue(once, {}),
      await t.enqueue(once, {}, { retry: { maxRetries: 0 } }),
      await t.enqueue(unsent, {}, { retry }),
      await t.enqueue('by-name', {}, { retry }),
    ]) {
      expect(quiet).not.toHaveProperty('warnings')
    }
  })

  test('any JSON comes back equal', async () => {
    const seen: unknown[] = []
    const job = defineJob({
      name: 'mirror',
      async run(payload: unknown) {
        seen.push(payload)
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const payloads = [
      '\u0000',
      '\ud800 alone',
      { '': [null, true, -1.5e300, '😀'] },
      [],
      0,
      null,
      { a: { b: { c: [{}] } } },
    ]
    for (const payload of payloads) await t.enqueue(job, payload)
    await t.drain()
    expect(seen).toEqual(payloads)
  })

  test.each<[string, unknown, RegExp]>([
    ['a function', { a: { f: () => 1 } }, /payload\.a\.f.*function/i],
    ['a BigInt', { items: [1, { price: 2n }] }, /payload\.items\[1\]\.price.*BigInt/],
    ['a date', { at: new Date(0) }, /payload\.at/],
    ['NaN', { n: Number.NaN }, /payload\.n/],
    ['more than 1 MiB', { text: 'x'.repeat(1024 * 1024) }, /1 MiB|1048576/],
  ])('a payload that is %s is refused with the path to the culprit', async (_name, payload, message) => {
    await using t = testChronos({ jobs: [noop], store })
    await expect(t.enqueue(noop, payload)).rejects.toThrow(message)
    expect((await t.jobs.count()).value).toBe(0)
  })

  test('a cycle and a payload deeper than 64 are refused', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    await expect(t.enqueue(noop, cycle)).rejects.toMatchObject({ code: 'INVALID_PAYLOAD' })
    let deep: unknown = 1
    for (let i = 0; i < 65; i++) deep = [deep]
    await expect(t.enqueue(noop, deep)).rejects.toMatchObject({ code: 'INVALID_PAYLOAD' })
  })

  test('a deadline may be a time in text, as REST and the command line give it', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const { id } = await t.enqueue(noop, {}, { deadline: '2100-01-01T00:00:00Z' })
    expect(await t.jobs.get(id)).toMatchObject({ deadline: '2100-01-01T00:00:00.000Z' })
  })

  test.each<[object, RegExp]>([
    [{ priority: 10 }, /priority: expected a whole number from 0 to 9, got 10/],
    [{ prioritty: 1 }, /unknown key "prioritty"; did you mean "priority"\?/],
    [{ delay: 'soon' }, /delay: expected a duration such as "30s".*"soon"/],
    [{ delay: '1s', runAt: 0 }, /delay or runAt, not both/],
    [{ runAt: 'tomorrow' }, /runAt: expected a Date.*"tomorrow"/],
    [{ key: '' }, /key: expected a text of 1 to 1024 characters/],
    [{ tags: 'a' }, /tags: expected a list of tags, got "a"/],
    [{ delivery: 'exactly-once' }, /at-least-once.*exactly-once/],
    [{ deadline: '2026-13-01T00:00:00Z' }, /deadline: expected a Date.*"2026-13-01T00:00:00Z"/],
    [Object.create({ key: 'a' }), /enqueue "noop": expected a plain object, got an instance of a class/],
    [{ retry: { maxRetrys: 1 } }, /maxRetrys.*did you mean "maxRetries"/],
    [{ retry: { rules: [{ when: { predicate: () => true }, as: 'permanent' }] } }, /predicate/],
    [{ retry: 'standart' }, /standart.*did you mean "standard"/],
  ])('%o is refused by name', async (options, message) => {
    await using t = testChronos({ jobs: [noop], store })
    await expect(t.enqueue(noop, {}, options)).rejects.toThrow(message)
  })

  test('enqueueMany: one call, an option per payload, conflicts in their place', async () => {
    await using t = testChronos({ jobs: [noop], store })
    await t.enqueue(noop, { n: 2 }, { key: 'n2' })
    const results = await t.enqueueMany(noop, [{ n: 1 }, { n: 2 }, { n: 3 }], ({ n }) => ({
      key: n === 3 ? 'n2' : `n${n}`,
    }))
    expect(results.map(one => one.status)).toEqual(['created', 'existing', 'conflict'])
    expect(await t.enqueueMany(noop, [])).toEqual([])
  })
})
