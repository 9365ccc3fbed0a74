import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { jobs, request, settlement } from '../bench.js'

afterAll(dropSchemas)

/** The statements that the driver considers prepared on a connection. */
interface Remembering {
  readonly connection: { parsedStatements: Record<string, string> }
}

/** Like a pooler, gives every transaction a connection without prepared statements; the driver does not notice it. */
class Forgetful extends pg.Pool {
  override async connect(): Promise<never> {
    const client = await super.connect()
    await client.query('DEALLOCATE ALL')
    return client as never
  }
}

/** Gives every transaction a connection on which another client has prepared the same statements. */
class Foreign extends pg.Pool {
  override async connect(): Promise<never> {
    const client = await super.connect()
    ;(client as unknown as Remembering).connection.parsedStatements = {}
    return client as never
  }
}

describe('prepared statements', () => {
  it.each([
    ['are missing', Forgetful],
    ['already exist', Foreign],
  ])('work behind a pooler on which they %s', async (_, Pool) => {
    const pool = new Pool({ connectionString: await postgresUrl() })
    const store = await openStore({ pool })
    await store.migrate()
    await store.enqueue(jobs(3))
    await store.enqueue(jobs(3))
    for (const rest of [4, 2, 0]) {
      const { jobs: held } = await store.claim(request({ limit: 2 }))
      const ends = held.map((one, index) => settlement(one, index === 0 ? 'succeeded' : 'failed'))
      expect((await store.settle(ends)).map(({ status }) => status)).toEqual(['settled', 'settled'])
      const { value } = await store.count({ state: 'waiting' }, 10)
      expect(value).toBe(rest + (6 - rest) / 2)
    }
    await store.close()
    await pool.end()
  })

  it('are given up by all calls in flight when a pooler does not support them', async () => {
    const pool = new Foreign({ connectionString: await postgresUrl() })
    const store = await openStore({ pool })
    await store.migrate()
    const together = () => Promise.all([1, 2, 3, 4].map(() => store.enqueue(jobs(1))))
    // The first round prepares the statement on each connection; in the second one every call meets its own.
    await together()
    await together()
    expect((await store.count({}, 100)).value).toBe(8)
    await store.close()
    await pool.end()
  })

  it('use an index, although the tables were empty when they were planned', async () => {
    const schema = freshSchema()
    const store = await openStore({ schema })
    await store.migrate()
    for (let looks = 0; looks < 8; looks++) await store.claim(request())
    await store.enqueue(jobs(2_000, { queue: 'another' }))
    await store.enqueue(jobs(20))
    const [before] = await sql<{ read: number }>(READ, [schema])
    const { jobs: held } = await store.claim(request())
    expect((await store.settle(held.map(one => settlement(one)))).every(({ status }) => status === 'settled')).toBe(
      true,
    )
    await store.close()
    // A backend reports its statistics when it ends.
    await expect.poll(async () => (await sql<{ read: number }>(READ, [schema]))[0]).toEqual(before)
    expect(held).toHaveLength(20)
  })
})

/** The number of rows read by sequential scans. */
const READ = `SELECT seq_tup_read::int AS read FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'jobs'`
