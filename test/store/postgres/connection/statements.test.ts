import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock, systemDice } from '../../../../src/engine/time/system.js'
import { Database } from '../../../../src/store/postgres/connection/pool.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { jobs, openWatched, reported, request, settlement } from '../bench.js'

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

/** Its clients have the process ids of a pooler. */
class Pooled extends pg.Pool {
  constructor(options: pg.PoolConfig) {
    super(options)
    this.on('connect', client => Object.assign(client, { processID: 1 }))
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
    const store = await openWatched(schema)
    await store.migrate()
    for (let looks = 0; looks < 8; looks++) await store.claim(request())
    await store.enqueue(jobs(2_000, { queue: 'another' }))
    await store.enqueue(jobs(20))
    const [before] = await sql<{ read: number }>(READ, [schema])
    const { jobs: held } = await store.claim(request())
    expect((await store.settle(held.map(one => settlement(one)))).every(({ status }) => status === 'settled')).toBe(
      true,
    )
    await reported(store, schema)
    expect((await sql<{ read: number }>(READ, [schema]))[0]).toEqual(before)
    expect(held).toHaveLength(20)
  })
})

/** The texts of the queries that the driver sends while it acts. */
async function sent(act: () => Promise<unknown>): Promise<string[]> {
  const texts: string[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, config: { text: string }, ...others: never[]) {
    texts.push(config.text)
    return (query as (...args: unknown[]) => unknown).call(this, config, ...others)
  } as never
  try {
    await act()
  } finally {
    pg.Client.prototype.query = query
  }
  return texts.filter(text => !text.includes('pg_notify') && !text.includes('set_config'))
}

describe('a transaction', () => {
  const SETTINGS = `SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
    current_setting('jit') AS jit, current_setting('plan_cache_mode') AS plan, current_setting('enable_seqscan') AS scan`

  it('sends a single statement alone, once the session has its settings', async () => {
    const store = await openStore()
    await store.migrate()
    await store.setQueue('default', {})
    const texts = await sent(() => store.setQueue('default', {}))
    expect(texts).toEqual([expect.stringContaining('INSERT INTO')])
    await store.close()
  })

  it('sends several statements without settings', async () => {
    const store = await openStore()
    await store.migrate()
    // The first claim opens the connection, and the second one sets how it plans.
    for (const _ of [1, 2]) await store.claim(request())
    const texts = await sent(() => store.claim(request()))
    expect([texts[0], texts.at(-1)]).toEqual(['BEGIN', 'COMMIT'])
    expect(texts.filter(text => text.startsWith('SET'))).toEqual([])
    await store.close()
  })

  it('has its own settings behind a pooler', async () => {
    const store = await openStore({ pool: new Pooled({ connectionString: await postgresUrl() }) })
    await store.migrate()
    await store.claim(request())
    const [begin, ...others] = await sent(() => store.claim(request()))
    expect(begin).toMatch(/^BEGIN ISOLATION LEVEL read committed; SET LOCAL statement_timeout = 5000;.*plan_cache_mode/)
    expect(others.at(-1)).toBe('COMMIT')
    await store.close()
  })

  it.each([
    ['the server', pg.Pool],
    ['a pooler', Pooled],
  ])('on %s plans prepared statements once, and others for their values', async (_, Pool) => {
    const pool = new Pool({ connectionString: await postgresUrl() })
    const db = new Database({
      place: { pool },
      schema: 'none',
      clock: systemClock,
      dice: systemDice,
      statementMs: 4_000,
    })
    const settings = { statement: '4s', lock: '2s', jit: 'off' }
    const ask = async (isKept: boolean) => {
      const [rows] = await db.write('work', [{ sql: SETTINGS, isKept }])
      const [statement, lock, jit, plan, scan] = rows![0] as string[]
      return { statement, lock, jit, plan, scan }
    }
    for (const round of [1, 2]) {
      expect(await ask(true), `round ${round}`).toEqual({ ...settings, plan: 'force_generic_plan', scan: 'off' })
      expect(await ask(false)).toEqual({ ...settings, plan: 'auto', scan: 'on' })
      await ask(true)
      const [row] = await db.transaction('work', asked => asked<string[]>(SETTINGS))
      expect(row).toEqual(['4s', '2s', 'off', 'auto', 'on'])
    }
    await db.close()
    await pool.end()
  })
})

/** The number of rows read by sequential scans. */
const READ = `SELECT seq_tup_read::int AS read FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'jobs'`
