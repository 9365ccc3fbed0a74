import { afterAll, expect, it } from 'vitest'
import { dropSchemas, freshSchema, openStore, sql } from '../../../support/postgres.js'
import { jobs, request } from '../bench.js'

afterAll(dropSchemas)

/** Only a version of a row in the page of the version before it needs no index entries. */
it('begins most runs and renews most leases in the page of the job, so that no index changes', async () => {
  const schema = freshSchema()
  const store = await openStore({ schema })
  await store.migrate()
  await store.enqueue(jobs(100))
  const { jobs: claimed } = await store.claim(request())
  const pages = async (): Promise<string[]> => {
    const rows = await sql<{ page: string }>(
      `SELECT split_part(trim('()' FROM ctid::text), ',', 1) AS page FROM ${schema}.jobs ORDER BY id`,
    )
    return rows.map(({ page }) => page)
  }
  const stayed = async (write: () => Promise<readonly string[]>): Promise<number> => {
    const before = await pages()
    expect(new Set(await write())).toEqual(new Set(['held']))
    const after = await pages()
    return after.filter((page, index) => page === before[index]).length
  }
  const begin = () => store.begin(claimed.map(({ id, token }) => ({ id, token, delivery: 'at-least-once' as const })))
  expect(await stayed(begin)).toBeGreaterThan(50)
  expect(await stayed(() => store.extend(claimed, 60_000))).toBeGreaterThan(50)
  await store.close()
})
