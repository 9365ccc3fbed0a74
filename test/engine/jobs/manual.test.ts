import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const noop = defineJob({ name: 'noop', run: async (_payload: unknown) => 'done' })
const bad = defineJob({
  name: 'bad',
  retry: fixed({ delay: '1h', maxRetries: 5, jitter: 'none' }),
  async run() {
    throw new Error('no')
  },
})

describe.each(STORES)('manual actions on %s', (_, store) => {
  test('cancel: a waiting job never starts', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const { id } = await t.enqueue(noop, {}, { delay: '1m' })
    expect(await t.jobs.cancel(id)).toMatchObject({ state: 'cancelled' })
    await t.advance('1h')
    expect((await t.jobs.history(id)).data).toEqual([])
  })

  test.each([
    ['that stops', true, 'cancelled', 'cancelled'],
    ['that finishes all the same', false, 'succeeded', 'succeeded'],
  ])('cancel: a running job %s ends as what it did', async (_name, stops, state, status) => {
    const job = defineJob({
      name: 'running',
      run: (_payload: unknown, { signal }) =>
        new Promise<void>((resolve, reject) => {
          signal.addEventListener('abort', () => (stops ? reject(signal.reason) : resolve()))
        }),
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job)
    await t.advance('1s', { despite: 'handlers' })
    await t.jobs.cancel(id)
    await t.advance('1s', { despite: 'handlers' })
    expect((await t.jobs.get(id))?.state).toBe(state)
    expect((await t.jobs.history(id)).data.map(one => one.status)).toEqual([status])
  })

  test('run-now: skips the wait and keeps the count', async () => {
    await using t = testChronos({ jobs: [bad], store })
    const { id } = await t.enqueue(bad)
    await t.advance('1s')
    expect(await t.jobs.get(id)).toMatchObject({ phase: 'retrying', attempt: 1 })
    await t.jobs.runNow(id)
    await t.advance('1s')
    expect(await t.jobs.get(id)).toMatchObject({ phase: 'retrying', attempt: 2 })
  })

  test('reschedule: moves a waiting job to another time', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const { id } = await t.enqueue(noop, {}, { delay: '1m' })
    const at = new Date(t.now().getTime() + 7_200_000)
    expect(await t.jobs.reschedule(id, { runAt: at })).toMatchObject({ runAt: at.toISOString(), phase: 'scheduled' })
    await t.advance('1h')
    expect((await t.jobs.get(id))?.state).toBe('waiting')
    await t.jobs.reschedule(id, { delay: '1m' })
    await t.advance('1m')
    expect((await t.jobs.get(id))?.state).toBe('succeeded')
  })

  test('retry: a cancelled job starts again as a new generation', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const { id } = await t.enqueue(noop, {}, { delay: '1m' })
    await t.jobs.cancel(id)
    await t.jobs.retry(id)
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', generation: 2 })
  })

  test('replay: a new job from the same payload', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const first = await t.enqueue(noop, { n: 1 }, { priority: 7, tags: ['a'], key: 'k', tenantId: 'acme' })
    await t.drain()
    const second = await t.jobs.replay(first.id)
    expect(second.id).not.toBe(first.id)
    expect(await t.jobs.get(second.id)).toMatchObject({ payload: { n: 1 }, priority: 7, tags: ['a'], tenantId: 'acme' })
  })

  test('delete: removes the record and its history', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const { id } = await t.enqueue(noop)
    await t.drain()
    await t.jobs.delete(id)
    expect(await t.jobs.get(id)).toBeUndefined()
    expect((await t.jobs.history(id)).data).toEqual([])
  })

  test('what a state does not allow is refused with the state and the rule', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const { id } = await t.enqueue(noop)
    await t.drain()
    await expect(t.jobs.cancel(id)).rejects.toThrow(/cancel: job .* can't: it is succeeded; only a waiting or running/)
    await expect(t.jobs.runNow(id)).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await expect(t.jobs.retry(id)).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    const nowhere = '00000000-0000-7000-8000-000000000000'
    await expect(t.jobs.cancel(nowhere)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(t.jobs.delete('nonsense')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await t.jobs.get(nowhere)).toBeUndefined()
  })

  test('lists page through everything, newest first, by filter', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const ids: string[] = []
    for (let i = 0; i < 25; i++) {
      ids.unshift((await t.enqueue(noop, i, { delay: '1h', tags: i % 5 === 0 ? ['fifth'] : [] })).id)
    }
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { data, page } = await t.jobs.list({ state: 'waiting' }, { limit: 10, ...(cursor && { cursor }) })
      seen.push(...data.map(job => job.id))
      cursor = page.next
    } while (cursor)
    expect(seen).toEqual(ids)
    expect((await t.jobs.list({ tag: 'fifth' })).data).toHaveLength(5)
    expect(await t.jobs.count({ queue: 'default' }, 10)).toEqual({ value: 10, relation: 'at-least' })
    await expect(t.jobs.list({ state: 'wating' as never })).rejects.toThrow(/did you mean "waiting"/)
    await expect(t.jobs.list({}, { limit: 0 })).rejects.toThrow(/limit: expected a whole number from 1 to 200/)
  })
})
