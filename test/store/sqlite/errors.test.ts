import { beforeEach, describe, expect, it } from 'vitest'
import type { StoredError } from '../../../src/core/job/job.js'
import type { Database } from '../../../src/store/sqlite/file/driver.js'
import type { RunEnd, Store } from '../../../src/store/store.js'
import { Bench, BOOM, died, retry } from '../conformance/bench.js'
import { Folder } from './folder.js'

const folder = new Folder()
// The system's clock, because a store waits a moment after another connection wrote to its file.
const bench = new Bench(async () => folder.store())
let database: Database

beforeEach(async () => {
  await bench.open()
  database = await folder.database()
})

/** The stored texts: how many attempts refer to each, and whether others can find it. */
function texts(): { uses: number; shared: boolean; message: string }[] {
  const statement = database.prepare('SELECT uses, hash IS NOT NULL, body FROM errors ORDER BY pk')
  statement.setReturnArrays(true)
  const rows = statement.all() as [uses: number, shared: number, body: string][]
  return rows.map(([uses, shared, body]) => ({
    uses,
    shared: shared === 1,
    message: (JSON.parse(body) as StoredError).message,
  }))
}

async function fail(count: number, end: (index: number) => RunEnd, store: Store = bench.store): Promise<string[]> {
  await bench.addMany(count)
  const { jobs } = await store.claim(bench.request())
  await store.settle(jobs.map((job, index) => bench.settlement(job, end(index))))
  return jobs.map(({ id }) => id)
}

describe('the text of an error', () => {
  it('is stored once for all attempts that failed with it, and every attempt shows it', async () => {
    const first = await fail(5, () => died())
    const second = await fail(3, () => died())
    expect(texts()).toEqual([{ uses: 8, shared: true, message: 'boom' }])
    for (const id of [...first, ...second]) {
      expect(await bench.history(id)).toMatchObject([{ error: BOOM, status: 'failed' }])
      expect(await bench.get(id)).toMatchObject({ error: BOOM })
    }
  })

  it('is stored for each attempt if it occurs once, without an entry in the index', async () => {
    await fail(3, index => retry(0, {}, { ...BOOM, message: `user ${index}` }))
    expect(texts()).toEqual([0, 1, 2].map(index => ({ uses: 1, shared: false, message: `user ${index}` })))
  })

  it('is shared by several processes on one file', async () => {
    const other = folder.store()
    await fail(3, () => died())
    await fail(2, () => died(), other)
    await fail(2, () => died(), other)
    const all = texts()
    expect(all.map(({ uses }) => uses).reduce((sum, uses) => sum + uses)).toBe(7)
    expect(all.length).toBeLessThanOrEqual(2)
  })

  it('is removed with the last attempt that refers to it', async () => {
    const ids = await fail(4, () => died())
    await bench.store.remove(ids.slice(0, 3))
    expect(texts()).toMatchObject([{ uses: 1 }])
    await bench.store.remove(ids.slice(3))
    expect(texts()).toEqual([])
  })

  it('is removed by a prune of the jobs that failed with it', async () => {
    await fail(4, () => died())
    await bench.store.prune({ olderThanMs: { dead: 0 }, keyMs: 0, limit: 3 })
    expect(texts()).toMatchObject([{ uses: 1 }])
    await bench.store.prune({ olderThanMs: { dead: 0 }, keyMs: 0, limit: 3 })
    expect(texts()).toEqual([])
  })
})

it('keeps the attempts of a file of version 5 readable, beside new ones', async () => {
  const [id] = await fail(1, () => retry(0))
  database.exec(`
    INSERT INTO remarks (pk, error, note, delay_ms, next_run_at, decision, fingerprint)
      SELECT 1, e.body, a.note, a.delay_ms, a.next_run_at, '{"action":"retry","why":"an old sentence"}', a.fingerprint
      FROM attempts a JOIN errors e ON e.pk = a.error;
    UPDATE attempts SET remarks = 1, error = NULL, decision = NULL, delay_ms = NULL, next_run_at = NULL;
    DELETE FROM errors;
  `)
  await bench.settle(await bench.claimOne(), died())
  expect(await bench.history(id!)).toMatchObject([
    { run: 2, error: BOOM, decision: { why: 'no retry was left' } },
    { run: 1, error: BOOM, delayMs: 0, decision: { why: 'an old sentence' } },
  ])
  await bench.store.remove([id!])
  const left = database.prepare('SELECT (SELECT count(*) FROM remarks) + (SELECT count(*) FROM errors)')
  left.setReturnArrays(true)
  expect(left.get()).toEqual([0])
})

it('finds jobs by the text of a shared error', async () => {
  const ids = await fail(3, () => died())
  expect((await bench.listed({ error: 'BOOM' })).sort()).toEqual([...ids].sort())
})
