import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const noop = defineJob({ name: 'noop', run: async (_payload: unknown) => 'done' })
const bad = defineJob({
  name: 'bad',
  retry: fixed({ delay: '1h', maxRetries: 0 }),
  async run(_payload: unknown) {
    throw new Error('no')
  },
})
const many = (count: number) => Array.from({ length: count }, (_, n) => ({ n }))

describe.each(STORES)('bulk actions on %s', (_, store) => {
  test('cancelAll: cancels the waiting jobs that match, over more than one batch', async () => {
    await using t = testChronos({ jobs: [noop], store })
    await t.enqueueMany(noop, many(620), { delay: '1h', tags: ['a'] })
    const { id: other } = await t.enqueue(noop, {}, { delay: '1h' })
    expect(await t.jobs.cancelAll({ tag: 'a' })).toEqual({ matched: 620, changed: 620, dryRun: false })
    expect(await t.jobs.count({ state: 'cancelled' })).toEqual({ value: 620, relation: 'exact' })
    expect((await t.jobs.get(other))?.state).toBe('waiting')
  })

  test('a dry run counts, and changes nothing', async () => {
    await using t = testChronos({ jobs: [noop], store })
    await t.enqueueMany(noop, many(7), { delay: '1h' })
    expect(await t.jobs.cancelAll({ name: 'noop' }, { dryRun: true })).toEqual({ matched: 7, changed: 0, dryRun: true })
    expect(await t.jobs.deleteAll({ q: '"n":3' }, { dryRun: true })).toEqual({ matched: 1, changed: 0, dryRun: true })
    expect(await t.jobs.count({ state: 'waiting' })).toEqual({ value: 7, relation: 'exact' })
  })

  test('cancelAll: asks running jobs to stop', async () => {
    const job = defineJob({
      name: 'running',
      run: (_payload: unknown, { signal }) =>
        new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job)
    await t.advance('1s', { despite: 'handlers' })
    expect(await t.jobs.cancelAll({ name: 'running' })).toMatchObject({ matched: 1, changed: 1 })
    await t.advance('1s', { despite: 'handlers' })
    expect((await t.jobs.get(id))?.state).toBe('cancelled')
  })

  test('retryAll: starts dead and cancelled jobs again', async () => {
    await using t = testChronos({ jobs: [bad, noop], store })
    await t.enqueueMany(bad, many(3))
    const { id } = await t.enqueue(noop, {}, { delay: '1h' })
    await t.jobs.cancel(id)
    await t.drain()
    expect(await t.jobs.retryAll({}, { all: true })).toEqual({ matched: 4, changed: 4, dryRun: false })
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', generation: 2 })
    expect(await t.jobs.count({ state: 'dead' })).toEqual({ value: 3, relation: 'exact' })
  })

  test('retryAll: jobs whose unique value is taken are refused and counted', async () => {
    await using t = testChronos({ jobs: [bad, noop], store })
    const { id } = await t.enqueue(noop, {}, { delay: '1h', unique: 'u' })
    await t.jobs.cancel(id)
    await t.enqueue(noop, {}, { delay: '1h', unique: 'u' })
    expect(await t.jobs.retryAll({ state: 'cancelled' })).toEqual({ matched: 1, changed: 0, refused: 1, dryRun: false })
  })

  test('deleteAll: deletes the jobs that match and are not running', async () => {
    await using t = testChronos({ jobs: [bad, noop], store })
    await t.enqueueMany(bad, many(3))
    await t.enqueue(noop)
    await t.drain()
    expect(await t.jobs.deleteAll({ error: 'NO' })).toEqual({ matched: 3, changed: 3, dryRun: false })
    expect((await t.jobs.list()).data.map(({ name }) => name)).toEqual(['noop'])
    expect((await t.chronos.verify()).isSound).toBe(true)
  })

  test('an action on a state that does not allow it is refused', async () => {
    await using t = testChronos({ jobs: [noop], store })
    await t.enqueue(noop)
    await t.drain()
    expect(await t.jobs.cancelAll({ name: 'noop' })).toEqual({ matched: 0, changed: 0, dryRun: false })
    const refused = { matched: 1, changed: 0, refused: 1, dryRun: false }
    expect(await t.jobs.cancelAll({ state: 'succeeded' })).toEqual(refused)
  })

  test('deliveries that a cancel enqueues are not included', async () => {
    await using t = testChronos({ jobs: [noop], store, egress: { allow: ['loopback'] } })
    await t.enqueueMany(noop, many(3), { delay: '1h', webhook: 'http://127.0.0.1:9/hook' })
    expect(await t.jobs.cancelAll({}, { all: true })).toEqual({ matched: 3, changed: 3, dryRun: false })
    expect(await t.jobs.count({ queue: 'chronos:deliveries', state: ['waiting', 'running'] })).toMatchObject({
      value: 3,
    })
  })

  test.each(['cancelAll', 'retryAll', 'deleteAll'] as const)('%s: an empty filter must be confirmed', async action => {
    await using t = testChronos({ jobs: [noop], store })
    await t.enqueue(noop, {}, { delay: '1h' })
    await expect(t.jobs[action]({})).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await expect(t.jobs[action]({}, { dryRun: true })).rejects.toThrow(/\{ all: true \}/)
    expect(await t.jobs.count({ state: 'waiting' })).toEqual({ value: 1, relation: 'exact' })
  })

  test('dead letters are discarded in bulk', async () => {
    await using t = testChronos({ jobs: [bad], store })
    await t.enqueueMany(bad, many(3))
    await t.drain()
    expect(await t.chronos.dead.discard({ q: '"n":1' })).toEqual({ matched: 1, changed: 1, dryRun: false })
    expect(await t.chronos.dead.discard({}, { dryRun: true })).toEqual({ matched: 2, changed: 0, dryRun: true })
    expect(await t.chronos.dead.acknowledge({})).toEqual({ matched: 2, changed: 2, dryRun: false })
  })
})
