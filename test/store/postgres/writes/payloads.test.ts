import { afterAll, describe, expect, it } from 'vitest'
import { cancel, edit } from '../../../../src/core/job/changes.js'
import { dropSchemas, freshSchema, openStore, sql } from '../../../support/postgres.js'
import { job, request, settlement } from '../bench.js'

afterAll(dropSchemas)

const LONG = JSON.stringify('x'.repeat(1_400))
const SHORT = JSON.stringify('y')

async function open() {
  const schema = freshSchema()
  const store = await openStore({ schema })
  await store.migrate()
  const apart = () => sql<{ id: string; body: string }>(`SELECT id, body FROM ${schema}.payloads`)
  return { schema, store, apart }
}

describe('a long payload', () => {
  it('is stored in its own table, and written once', async () => {
    const { schema, store, apart } = await open()
    const [long, short] = [job({ payload: LONG }), job({ payload: SHORT })]
    await store.enqueue([long, short])
    await store.enqueue([long, short])
    const [{ jobs: claimed }, written] = [await store.claim(request({ limit: 2 })), await versionOf(schema)]
    expect(claimed.map(({ payload }) => payload)).toEqual([LONG, SHORT])
    await store.settle(claimed.map(each => settlement(each, 'failed')))
    const { jobs: again } = await store.claim(request({ limit: 2 }))
    expect(again.map(({ payload }) => payload).sort()).toEqual([LONG, SHORT].sort())
    await store.settle(again.map(each => settlement(each, 'succeeded')))
    expect((await store.get(long.id))!.payload).toBe(LONG)
    expect((await store.list({ text: 'xxxx' }, { limit: 5 })).data.map(({ id }) => id)).toEqual([long.id])
    expect(await sql(`SELECT payload FROM ${schema}.jobs WHERE id = $1`, [long.id])).toEqual([{ payload: '' }])
    expect(await apart()).toEqual([{ id: long.id, body: LONG }])
    expect(await versionOf(schema)).toBe(written)
    await store.close()
  })

  it('is removed with its job', async () => {
    const { store, apart } = await open()
    const all = [job({ payload: LONG }), job({ payload: LONG })]
    await store.enqueue(all)
    await store.change(
      all.map(({ id }) => id),
      cancel,
    )
    await store.remove([all[0]!.id])
    expect((await apart()).map(({ id }) => id)).toEqual([all[1]!.id])
    await store.prune({ olderThanMs: { cancelled: 0 }, keyMs: 0, limit: 10 })
    expect(await apart()).toEqual([])
    await store.close()
  })

  it('is not stored for a rejected job', async () => {
    const { store, apart } = await open()
    const first = job({ payload: LONG, unique: 'u' })
    const second = job({ payload: JSON.stringify('z'.repeat(1_400)), unique: 'u' })
    expect(await store.enqueue([first, second])).toMatchObject([{ status: 'created' }, { status: 'existing' }])
    expect((await apart()).map(({ id }) => id)).toEqual([first.id])
    await store.close()
  })

  it('from an older version stays in the row of its job when another field is edited', async () => {
    const { schema, store, apart } = await open()
    const old = job({ payload: SHORT })
    await store.enqueue([old])
    await sql(`UPDATE ${schema}.jobs SET payload = $1`, [LONG])
    const before = (await store.get(old.id))!
    expect(before.payload).toBe(LONG)
    await store.change([old.id], edit({ expect: before, tags: ['edited'] }))
    expect(await store.get(old.id)).toEqual({ ...before, tags: ['edited'] })
    // A change writes only the columns that differ, so the payload stays in its row.
    expect(await apart()).toEqual([])
    await store.close()
  })

  it('that an operator deleted makes only its own job fail', async () => {
    const { schema, store } = await open()
    const all = [job({ payload: LONG }), job({ payload: SHORT })]
    await store.enqueue(all)
    await sql(`DELETE FROM ${schema}.payloads`)
    const { jobs: claimed } = await store.claim(request({ limit: 2 }))
    expect(claimed.map(({ payload }) => payload)).toEqual(['', SHORT])
    await store.close()
  })
})

/** Changes with every write of the row. */
async function versionOf(schema: string): Promise<string> {
  const [row] = await sql<{ xmin: string }>(`SELECT xmin::text FROM ${schema}.payloads`)
  return row!.xmin
}
