import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { actOnAll } from '../../../src/engine/jobs/bulk.js'
import type { Store } from '../../../src/store/store.js'
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

  test.each(['cancelAll', 'deleteAll'] as const)('%s: changes nothing if more than atMost match', async action => {
    await using t = testChronos({ jobs: [noop], store })
    await t.enqueueMany(noop, many(3), { delay: '1h', tags: ['a'] })
    const refusal = { code: 'TOO_MANY_MATCHES', details: { matched: 3, atMost: 2, changed: 0 } }
    for (const query of [{ tag: 'a' }, { q: '"n":' }]) {
      await expect(t.jobs[action](query, { atMost: 2 })).rejects.toMatchObject(refusal)
      expect(await t.jobs[action](query, { atMost: 2, dryRun: true })).toMatchObject({ matched: 3, changed: 0 })
    }
    expect(await t.jobs.count({ state: 'waiting' })).toEqual({ value: 3, relation: 'exact' })
    expect(await t.jobs[action]({ tag: 'a' }, { atMost: 3 })).toMatchObject({ matched: 3, changed: 3 })
  })

  test('dead letters and redrives beyond atMost are refused, and misspelt options too', async () => {
    await using t = testChronos({ jobs: [bad], store })
    await t.enqueueMany(bad, many(3))
    await t.drain()
    const { dead, redrives } = t.chronos
    const refusal = { code: 'TOO_MANY_MATCHES', details: { matched: 3, atMost: 2 } }
    await expect(t.jobs.retryAll({ name: 'bad' }, { atMost: 2 })).rejects.toMatchObject(refusal)
    await expect(dead.acknowledge({}, { atMost: 2 })).rejects.toMatchObject(refusal)
    await expect(dead.discard({ q: '"n":' }, { atMost: 2 })).rejects.toMatchObject(refusal)
    await expect(dead.redrive({ q: '"n":' }, { atMost: 2 })).rejects.toMatchObject(refusal)
    await expect(dead.discard({}, { atmost: 2 } as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(await t.jobs.count({ state: 'dead', acknowledged: false })).toEqual({ value: 3, relation: 'exact' })
    expect((await redrives.list()).data).toEqual([])
    expect(await dead.redrive({}, { atMost: 3 })).toMatchObject({ total: { value: 3 } })
  })

  test('jobs that begin to match during the action are not changed beyond atMost', async () => {
    let opened: Store | undefined
    await using t = testChronos({
      jobs: [noop],
      store: clock => {
        opened = store(clock)
        return opened
      },
    })
    await t.enqueueMany(noop, many(600), { delay: '1h' })
    await t.enqueueMany(noop, many(501), { delay: '1h', tags: ['cancelled'] })
    await t.jobs.cancelAll({ tag: 'cancelled' })
    const deletion = actOnAll({
      action: 'deletion',
      store: opened!,
      filter: { state: 'cancelled' },
      options: { atMost: 501 },
      act: async ids => {
        await t.jobs.cancelAll({ state: 'waiting' })
        return opened!.remove(ids)
      },
    })
    const details = { matched: 1000, atMost: 501, changed: 500 }
    await expect(deletion).rejects.toMatchObject({ code: 'TOO_MANY_MATCHES', details })
    expect(await t.jobs.count()).toEqual({ value: 601, relation: 'exact' })
  })

  test('the dry run counts what the action changes, whatever the reason', async () => {
    await using t = testChronos({ jobs: [bad], store })
    const made = await t.enqueueMany(bad, many(5))
    await t.drain()
    const { dead } = t.chronos
    const ids = made.slice(0, 2).map(({ id }) => id)
    await dead.discard({ ids })
    const exhausted = { reason: 'exhausted' }
    expect(await dead.discard(exhausted, { dryRun: true })).toMatchObject({ matched: 3 })
    expect(await dead.redrive({}, { dryRun: true })).toMatchObject({ count: { value: 3 }, skipped: 2 })
    expect(await dead.redrive({ ids }, { dryRun: true })).toMatchObject({ count: { value: 2 }, skipped: 0 })
    expect(await dead.discard(exhausted)).toMatchObject({ matched: 3, changed: 3 })
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
