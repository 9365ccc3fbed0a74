import { afterAll, expect, it } from 'vitest'
import { dropSchemas, freshSchema, openStore, sql } from '../../../support/postgres.js'
import { jobs, request } from '../bench.js'

afterAll(dropSchemas)

const PAGE_BYTES = 8_192

/** Only a version of a row in the page of the version before it needs no index entries. */
it('leaves a third of a page free for the begin of a run, a renewed lease and progress', async () => {
  const schema = freshSchema()
  const store = await openStore({ schema })
  await store.migrate()
  await store.enqueue(jobs(200))
  await store.claim(request({ limit: 200 }))
  // The last pages are not full yet, and the first ones also have versions of before the claim.
  const pages = await sql<{ bytes: number }>(
    `SELECT sum(pg_column_size(j.*))::int AS bytes FROM ${schema}.jobs j
     GROUP BY split_part(trim('()' FROM ctid::text), ',', 1)::int ORDER BY sum(pg_column_size(j.*))`,
  )
  expect(pages.length).toBeGreaterThan(2)
  for (const { bytes } of pages) expect(bytes).toBeLessThan((PAGE_BYTES * 2) / 3)
  // The fullest pages are those that only the claim wrote, up to the limit.
  expect(pages.at(-1)!.bytes).toBeGreaterThan(PAGE_BYTES / 3)
  await store.close()
})
