import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cancel } from '../../../../src/core/job/changes.js'
import type { StoredError } from '../../../../src/core/job/job.js'
import type { PostgresStore } from '../../../../src/store/postgres/store.js'
import type { Settlement } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, sql } from '../../../support/postgres.js'
import { jobs, request, settlement } from '../bench.js'

afterAll(dropSchemas)

let schema: string
let store: PostgresStore

beforeEach(async () => {
  schema = freshSchema()
  store = await openStore({ schema })
  await store.migrate()
})

afterEach(() => store.close())

const errorOf = (number: number): StoredError => ({
  name: 'Error',
  message: `"${number}" failed \\ {}`,
  stack: `Error: ${'at somewhere\n'.repeat(150)}`,
})

/** Every run fails with the error that `choose` returns for its place. */
async function failed(count: number, choose: (index: number) => StoredError | undefined): Promise<Settlement[]> {
  await store.enqueue(jobs(count))
  const { jobs: claimed } = await store.claim(request({ limit: count }))
  return claimed.map((one, index) => {
    const { end, ...rest } = settlement(one, 'failed')
    const { error: _, ...others } = end as Extract<Settlement['end'], { kind: 'ended' }>
    const error = choose(index)
    return { ...rest, end: error === undefined ? others : { ...others, error } }
  })
}

describe('the errors of a batch', () => {
  it.each([
    ['equal', () => errorOf(1)],
    ['few, and some runs have none', (index: number) => (index % 3 === 2 ? undefined : errorOf(index % 3))],
    ['all different', errorOf],
    ['absent', () => undefined],
  ])('are stored with every run if they are %s', async (_, choose) => {
    const ends = await failed(40, choose)
    expect(await store.settle(ends)).toMatchObject(Array(40).fill({ status: 'settled' }))
    for (const [index, { lease }] of ends.entries()) {
      const { data } = await store.history(lease.id, { limit: 5 })
      expect(data[0]!.error).toEqual(choose(index))
      expect((await store.get(lease.id))!.error).toEqual(choose(index))
    }
  })

  it('are sent once if they are equal', async () => {
    const ends = await failed(100, () => errorOf(1))
    const { query } = pg.Client.prototype
    let length = 0
    pg.Client.prototype.query = function (this: pg.Client, config: { values?: unknown[] }, ...others: never[]) {
      length += JSON.stringify(config.values ?? []).length
      return (query as (...args: unknown[]) => unknown).call(this, config, ...others)
    } as never
    try {
      await store.settle(ends)
    } finally {
      pg.Client.prototype.query = query
    }
    expect(length).toBeLessThan(JSON.stringify(errorOf(1)).length * 20)
  })
})

describe('the text of an error', () => {
  const texts = () => sql(`SELECT 1 FROM ${schema}.errors`)
  const idsOf = (ends: readonly Settlement[]) => ends.map(({ lease }) => lease.id)

  it('is stored once, and removed with the last job that failed with it', async () => {
    const ends = await failed(30, () => errorOf(1))
    await store.settle(ends)
    const { jobs: again } = await store.claim(request({ limit: 30 }))
    await store.settle(again.map(one => settlement(one, 'failed')))
    expect(await texts()).toHaveLength(2)
    const [last, ...others] = idsOf(ends)
    await store.remove(others)
    expect(await texts()).toHaveLength(2)
    const { data } = await store.history(last!, { limit: 5 })
    expect(data.map(({ error }) => error?.message)).toEqual(['boom', errorOf(1).message])
    await store.change([last!], cancel)
    await store.prune({ olderThanMs: { cancelled: 0 }, keyMs: 0, limit: 10 })
    expect(await texts()).toEqual([])
  })

  it('stays while runs fail with it and jobs that failed with it are removed', async () => {
    const other = await openStore({ schema })
    for (let round = 0; round < 15; round++) {
      const ends = await failed(6, () => errorOf(1))
      await store.settle(ends.slice(0, 3))
      await Promise.all([store.remove(idsOf(ends.slice(0, 3))), other.settle(ends.slice(3))])
      for (const id of idsOf(ends.slice(3))) expect((await store.get(id))!.error).toEqual(errorOf(1))
      await store.remove(idsOf(ends.slice(3)))
    }
    expect(await texts()).toEqual([])
    await other.close()
  })

  it('is not stored for a run that another process has ended', async () => {
    const ends = await failed(3, errorOf)
    const lost = ends.slice(1).map(end => ({ ...end, lease: { ...end.lease, token: 'f'.repeat(32) } }))
    const answers = await store.settle([ends[0]!, ...lost])
    expect(answers.map(({ status }) => status)).toEqual(['settled', 'lost', 'lost'])
    expect(await texts()).toHaveLength(1)
  })

  it('from an older version is read from the row of its attempt', async () => {
    const ends = await failed(1, () => errorOf(1))
    await store.settle(ends)
    await sql(`UPDATE ${schema}.attempts a SET error = body, error_hash = NULL FROM ${schema}.errors`)
    await sql(`DELETE FROM ${schema}.errors`)
    const [id] = idsOf(ends)
    expect((await store.get(id!))!.error).toEqual(errorOf(1))
    expect((await store.history(id!, { limit: 1 })).data[0]!.error).toEqual(errorOf(1))
    expect((await store.list({ error: errorOf(1).message }, { limit: 5 })).data).toHaveLength(1)
  })
})
