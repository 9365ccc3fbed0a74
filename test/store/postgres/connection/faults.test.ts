import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PostgresOptions } from '../../../../src/store/postgres/store.js'
import type { Store } from '../../../../src/store/store.js'
import { Line } from '../../../support/line.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { PostgresServer } from '../../../support/postgres-server.js'
import { drain, expectBalance, job, jobs, request, runsIn, settlement } from '../bench.js'

afterAll(dropSchemas)

let schema: string
let store: Store
let url: string

beforeEach(async () => {
  url = await postgresUrl()
  schema = freshSchema()
  store = await openStore({ schema })
  await store.migrate()
  await store.enqueue([job({ queue: 'first' })])
})

afterEach(() => store.close())

async function through(line: Line, options: Partial<PostgresOptions> = {}): Promise<Store> {
  const other = await openStore({ schema, url: line.url(url), ...options })
  // The store already knows the queue and has no pending notification, so the next statement is the one of the test.
  await other.enqueue([job({ queue: 'first', runAt: { delayMs: 3_600_000 } })])
  return other
}

describe('a time limit of the driver', () => {
  const LIMIT_MS = 100

  it('in a URL makes the outcome of a write unknown', async () => {
    const limited = new URL(url)
    limited.searchParams.set('query_timeout', String(LIMIT_MS))
    const other = await openStore({ schema, url: limited.href })
    const client = new pg.Client(url)
    await client.connect()
    await client.query(`BEGIN; LOCK TABLE ${schema}.jobs IN EXCLUSIVE MODE`)
    const all = [job({ queue: 'first', name: 'late' })]
    await expect(other.enqueue(all)).rejects.toMatchObject({ code: 'STORE_UNKNOWN' })
    await client.query('ROLLBACK')
    await client.end()
    expect(await other.enqueue(all)).toMatchObject([{ status: 'created', id: all[0]!.id }])
    expect((await store.count({ name: 'late' }, 5)).value).toBe(1)
    await other.close()
  })

  it('in the settings of a connection does not cut off what takes longer', async () => {
    const other = await openStore({ schema, connection: { connectionString: url, query_timeout: 1 } })
    expect(await other.enqueue(jobs(500, { queue: 'first' }))).toHaveLength(500)
    await other.close()
  })
})

describe('an answer that is lost after the commit', () => {
  it('makes the outcome of an enqueue unknown, and a repetition creates no second job', async () => {
    const line = await Line.to(url)
    const far = await through(line)
    const all = [job({ queue: 'first', name: 'one' }), job({ queue: 'first', name: 'two' })]
    line.loseAnswers()
    await expect(far.enqueue(all)).rejects.toMatchObject({ code: 'STORE_UNKNOWN' })
    expect(line.lost).toBe(1)
    expect((await store.count({ name: 'one' }, 5)).value, 'it was done').toBe(1)
    expect(await far.enqueue(all)).toMatchObject([{ status: 'created' }, { status: 'created' }])
    expect((await store.count({}, 10)).value).toBe(4)
    await far.close()
    line.close()
  })

  it('makes the outcome of an enqueue with a key unknown, and a repetition returns the same job', async () => {
    const line = await Line.to(url)
    const far = await through(line)
    const one = job({ queue: 'first', key: 'k', payloadHash: 'h', unique: 'u' })
    line.loseAnswers()
    await expect(far.enqueue([one])).rejects.toMatchObject({
      code: 'STORE_UNKNOWN',
      message: expect.stringContaining('repeating it is safe, except for an enqueue without a `key`'),
    })
    expect(await far.enqueue([one])).toEqual([{ status: 'created', id: one.id }])
    expect(await store.enqueue([job({ ...one, id: job().id })])).toEqual([{ status: 'existing', id: one.id }])
    await far.close()
    line.close()
  })

  it('makes the outcome of a claim unknown, and a repetition returns the same jobs', async () => {
    const line = await Line.to(url)
    const far = await through(line)
    await store.enqueue(jobs(20))
    const asked = request({ limit: 7 })
    line.loseAnswers(2)
    await expect(far.claim(asked)).rejects.toMatchObject({ code: 'STORE_UNKNOWN' })
    await expect(far.claim(asked)).rejects.toMatchObject({ code: 'STORE_UNKNOWN' })
    expect((await far.claim(asked)).jobs).toHaveLength(7)
    expect((await store.count({ state: 'running' }, 50)).value).toBe(7)
    await far.close()
    line.close()
  })

  it('makes the outcome of a settle unknown, and a repetition returns `already`', async () => {
    const line = await Line.to(url)
    const far = await through(line)
    await store.enqueue(jobs(5))
    const { jobs: claimed } = await far.claim(request())
    const ends = claimed.map((one, index) => settlement(one, index % 2 === 0 ? 'succeeded' : 'failed'))
    line.loseAnswers()
    await expect(far.settle(ends)).rejects.toMatchObject({ code: 'STORE_UNKNOWN' })
    expect(await far.settle(ends)).toEqual(ends.map(() => ({ status: 'already' })))
    const [{ n }] = (await sql<{ n: string }>(`SELECT count(*) AS n FROM ${runsIn(schema)} a`)) as [{ n: string }]
    expect(n).toBe('5')
    await far.close()
    line.close()
  })

  it('makes a read unavailable, not unknown', async () => {
    const line = await Line.to(url)
    const far = await through(line)
    line.loseAnswers()
    await expect(far.count({}, 5)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await far.close()
    line.close()
  })
})

describe('a commit whose standby did not answer', () => {
  it('has an unknown outcome, although the server reports success', async () => {
    const server = await PostgresServer.start({ fsync: 'off', synchronous_standby_names: 'missing' })
    const local = { connectionString: server.url, options: '-c synchronous_commit=local' }
    const trusting = await openStore({ schema: 'sync', connection: local })
    await trusting.migrate()
    const admin = new pg.Client(local)
    await admin.connect()
    const careful = await openStore({ schema: 'sync', url: server.url })
    const answer = careful.enqueue([job()]).catch((error: unknown) => error)
    const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
    await expect.poll(async () => (await admin.query(cancel)).rowCount).toBe(1)
    expect(await answer).toMatchObject({ code: 'STORE_UNKNOWN', message: expect.stringContaining('standby') })
    await admin.end()
    await trusting.close()
    await careful.close()
    await server.stop()
  })
})

describe('a claim that is repeated while the first is in progress', () => {
  it('waits for it, and returns the same jobs', async () => {
    await store.enqueue(jobs(30))
    const other = await openStore({ schema })
    const keeper = new pg.Client(url)
    await keeper.connect()
    await keeper.query(`BEGIN; LOCK TABLE ${schema}.queues IN ACCESS EXCLUSIVE MODE`)
    const asked = request({ limit: 10 })
    const both = Promise.all([store.claim(asked), other.claim(asked)])
    await waitingFor(2)
    await keeper.query('COMMIT')
    const [first, second] = await both
    expect(first!.jobs.map(({ id }) => id)).toEqual(second!.jobs.map(({ id }) => id))
    expect((await store.count({ state: 'running' }, 50)).value).toBe(10)
    await keeper.end()
    await other.close()
  })

  /** Resolves when this many statements of the schema wait for a lock. */
  async function waitingFor(count: number): Promise<void> {
    await expect
      .poll(
        async () =>
          (await sql(`SELECT 1 FROM pg_locks WHERE NOT granted AND locktype IN ('relation', 'advisory')`)).length,
      )
      .toBeGreaterThanOrEqual(count)
  }
})

describe('a server that does not answer', () => {
  it('causes a timeout, and its connection is closed', async () => {
    const line = await Line.to(url)
    const far = await through(line, { statementMs: 200 })
    line.fallSilent()
    await expect(far.enqueue([job({ queue: 'first' })])).rejects.toMatchObject({ code: 'STORE_UNKNOWN' })
    await expect(far.count({}, 5)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    line.speakAgain()
    expect((await far.count({}, 5)).value).toBe(2)
    await far.close()
    line.close()
  })

  it('is distinguished from one that waits for a lock', async () => {
    const impatient = await openStore({ schema, statementMs: 200 })
    const keeper = new pg.Client(url)
    await keeper.connect()
    await keeper.query(`BEGIN; LOCK TABLE ${schema}.jobs IN ACCESS EXCLUSIVE MODE`)
    await expect(impatient.enqueue([job({ queue: 'first' })])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      details: { sqlState: '55P03' },
    })
    await keeper.query('COMMIT')
    expect(await impatient.enqueue([job({ queue: 'first' })])).toMatchObject([{ status: 'created' }])
    await keeper.end()
    await impatient.close()
  })

  it.each([
    ['no server listens', { port: '1' }],
    ['there is no such database', { pathname: '/nowhere' }],
    ['there is no such user', { username: 'nobody-known' }],
  ])('is unavailable if %s', async (_word, part) => {
    const wrong = Object.assign(new URL(url), part)
    const nowhere = await openStore({ schema, url: wrong.href })
    await expect(nowhere.get(job().id)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(nowhere.enqueue([job()])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await nowhere.close()
  })
})

describe('a server that has become a standby', () => {
  it('is rejected, and its connections are replaced by connections to the primary', async () => {
    const user = `${schema}_standby`
    await sql(`CREATE ROLE ${user} LOGIN SUPERUSER`)
    const as = new URL(url)
    as.username = user
    const moved = await openStore({ schema, url: as.href })
    await sql(`ALTER ROLE ${user} SET default_transaction_read_only = on`)
    const refusal = { code: 'STORE_READ_ONLY', details: { sqlState: '25006' } }
    await expect(moved.enqueue([job({ queue: 'first' })])).rejects.toMatchObject(refusal)
    await sql(`ALTER ROLE ${user} RESET default_transaction_read_only`)
    expect(await moved.enqueue([job({ queue: 'first' })])).toMatchObject([{ status: 'created' }])
    await moved.close()
    await sql(`DROP ROLE ${user}`)
  })
})

describe('backends that are terminated under load', () => {
  it('only cause retries: every job ends once', async () => {
    const stores = await Promise.all(
      [1, 2, 3].map(() => openStore({ schema, connection: { connectionString: url, application_name: schema } })),
    )
    const all = jobs(4000)
    await store.enqueue(all)
    let troubles = 0
    let over = false
    const drains = Promise.all(stores.map(one => drain(one, 20, () => void troubles++))).finally(() => {
      over = true
    })
    const killed = await killBackends(() => over)
    const done = (await drains).flat()
    expect(killed).toBeGreaterThan(5)
    expect(troubles).toBeGreaterThan(0)
    expect(new Set(done).size).toBe(4000)
    expect((await store.count({ state: 'succeeded' }, 5000)).value).toBe(4000)
    const [{ runs, jobs: ran }] = (await sql(
      `SELECT count(*)::int AS runs, count(DISTINCT job)::int AS jobs FROM ${runsIn(schema)} a`,
    )) as [{ runs: number; jobs: number }]
    expect([runs, ran]).toEqual([4000, 4000])
    await expectBalance(store)
    await Promise.all(stores.map(one => one.close()))
  })

  /** Active backends come first, because their clients must notice the lost answers. */
  async function killBackends(isOver: () => boolean): Promise<number> {
    let killed = 0
    while (!isOver()) {
      const rows = await sql(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = $1 ORDER BY state = 'active' DESC, random() LIMIT 1`,
        [schema],
      )
      killed += rows.length
      await sql('SELECT pg_sleep(0.02)')
    }
    return killed
  }
})
