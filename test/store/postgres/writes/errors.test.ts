import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredError } from '../../../../src/core/job/job.js'
import type { PostgresStore } from '../../../../src/store/postgres/store.js'
import type { Settlement } from '../../../../src/store/store.js'
import { dropSchemas, openStore } from '../../../support/postgres.js'
import { jobs, request, settlement } from '../bench.js'

afterAll(dropSchemas)

let store: PostgresStore

beforeEach(async () => {
  store = await openStore()
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
