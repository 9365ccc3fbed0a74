import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const noop = defineJob({ name: 'noop', run: async (_payload: unknown) => 'done' })
const bad = defineJob({
  name: 'bad',
  retry: fixed({ delay: '1h', maxRetries: 0 }),
  async run(payload: { host: string }) {
    throw new RangeError(`no answer from ${payload.host}`)
  },
})

describe.each(STORES)('searching on %s', (_, store) => {
  test('finds jobs by any part of them, and says how far it looked', async () => {
    await using t = testChronos({ jobs: [noop, bad], store })
    const { id } = await t.enqueue(bad, { host: 'db-7' }, { tags: ['eu'] })
    await t.enqueueMany(noop, [1, 2, 3])
    await t.drain()
    for (const query of [
      { q: 'DB-7' },
      { q: 'no answer' },
      { error: 'rangeerror' },
      { q: 'eu', state: 'dead' } as const,
    ]) {
      const { data, page, searched } = await t.jobs.list(query)
      expect(data.map(job => job.id)).toEqual([id])
      expect(page).toEqual({})
      expect(searched?.complete).toBe(true)
      expect(await t.jobs.count(query)).toEqual({ value: 1, relation: 'exact' })
    }
    expect(await t.jobs.list({ q: 'nowhere' })).toEqual({ data: [], page: {}, searched: { newest: 4, complete: true } })
    expect((await t.jobs.list({})).searched).toBeUndefined()
  })

  test('an id leads straight to its job', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const { id } = await t.enqueue(noop)
    await t.enqueueMany(noop, [1, 2])
    const { data } = await t.jobs.list({ q: id.toUpperCase() })
    expect(data.map(job => job.id)).toEqual([id])
    expect((await t.jobs.list({ q: id, state: 'dead' })).data).toEqual([])
  })

  test('pages neither skip nor repeat jobs of the same moment', async () => {
    await using t = testChronos({ jobs: [noop], store })
    const ids: string[] = []
    for (let n = 0; n < 23; n++) {
      ids.unshift((await t.enqueue(noop, { n, needle: true }, { delay: '1h' })).id)
      await t.enqueue(noop, { n }, { delay: '1h' })
    }
    const found: string[] = []
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const list = await t.jobs.list({ q: 'needle' }, { limit: 5, ...(cursor !== undefined && { cursor }) })
      found.push(...list.data.map(job => job.id))
      cursor = list.page.next
    }
    expect(found).toEqual(ids)
  })

  test.each([{ q: '' }, { error: '' }, { q: 'x'.repeat(2000) }])('refuses %j', async query => {
    await using t = testChronos({ jobs: [noop], store })
    await expect(t.jobs.list(query)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})

test('a search stops after the newest hundred thousand, says so, and goes on with older jobs', async () => {
  await using t = testChronos({ jobs: [noop] })
  await t.enqueue(noop, 'needle', { delay: '1h' })
  for (let batch = 0; batch < 11; batch++) {
    await t.enqueueMany(
      noop,
      Array.from({ length: 10_000 }, (_, n) => n),
      { delay: '1h' },
    )
  }
  const list = await t.jobs.list({ q: 'needle' })
  expect(list).toMatchObject({
    data: [],
    page: { next: expect.any(String) },
    searched: { newest: 100_000, complete: false },
  })
  expect(await t.jobs.count({ q: 'needle' })).toEqual({ value: 0, relation: 'at-least' })
  const older = await t.jobs.list({ q: 'needle' }, { cursor: list.page.next! })
  expect(older).toMatchObject({
    data: [{ payload: 'needle' }],
    page: {},
    searched: { newest: 110_001, complete: true },
  })
})
