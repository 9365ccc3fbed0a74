import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Chronos, createChronos, defineJob, type JobContext, type JobView } from '../../../../src/index.js'
import { postgres } from '../../../../src/postgres.js'
import type { Store } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { exitOf, message, startProcess } from '../../../support/process.js'
import { job, jobs, request, settlement } from '../bench.js'

afterAll(dropSchemas)

let url: string
let schema: string
let pool: pg.Pool
let chronos: Chronos
const logged: { event?: string }[] = []

beforeEach(async () => {
  url = await postgresUrl()
  schema = freshSchema()
  pool = new pg.Pool({ connectionString: url })
  const say = (line: object) => void logged.push(line)
  const log = { debug: say, info: say, warn: say, error: say, isLevelEnabled: () => true }
  chronos = createChronos({ store: postgres(`${url}?schema=${schema}`), log })
  await chronos.info()
  await sql(`CREATE TABLE ${schema}.orders (id integer PRIMARY KEY)`)
})

afterEach(async () => {
  await chronos.close()
  await pool.end()
  logged.length = 0
})

/** Inserts an order and calls `act` in a transaction of the handler. */
async function transaction(act: (client: pg.PoolClient) => Promise<unknown>): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query(`INSERT INTO ${schema}.orders VALUES (1)`)
    await act(client)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}

const retry = { maxRetries: 2, backoff: { type: 'fixed', delay: '1ms' }, jitter: 'none' } as const
const orders = async () => (await sql(`SELECT 1 FROM ${schema}.orders`)).length
const eventsLogged = () => logged.map(({ event }) => event)

interface Life {
  readonly job: JobView
  /** Oldest first. */
  readonly statuses: readonly string[]
  readonly errors: readonly (string | undefined)[]
}

/** Runs a job from its enqueue to its final state. */
async function live(
  run: (job: JobContext) => unknown,
  options: { timeout?: '100ms'; lease?: '3s'; poll?: '100ms' } = {},
): Promise<Life> {
  const { lease = '30s', poll, ...rest } = options
  const order = defineJob({ name: 'order', retry, ...rest, run: (_: null, one) => run(one) })
  const ended = new Promise<void>(resolve => {
    chronos.on('job.succeeded', () => resolve())
    chronos.on('job.dead', () => resolve())
  })
  const worker = chronos.work([order], { lease, ...(poll && { poll }), signals: false })
  const { id } = await chronos.enqueue(order, null)
  await ended
  await worker.stop()
  const { data } = await chronos.jobs.history(id)
  const attempts = data.toReversed()
  return {
    job: (await chronos.jobs.get(id))!,
    statuses: attempts.map(({ status }) => status),
    errors: attempts.map(({ error }) => error?.code ?? error?.message),
  }
}

describe('a job that is completed in a transaction of its handler', () => {
  it('succeeds when the transaction commits, with its result and its logs', async () => {
    const life = await live(async one => {
      one.log('ordered')
      await transaction(async client => {
        await one.complete(client, { order: 1 })
        expect((await chronos.jobs.get(one.id))!.state, 'not before').toBe('running')
      })
      expect((await chronos.jobs.get(one.id))!.state, 'not later').toBe('succeeded')
      return 'this is not the result'
    })
    expect(life).toMatchObject({ job: { state: 'succeeded', result: { order: 1 } }, statuses: ['succeeded'] })
    expect((await chronos.jobs.logs(life.job.id)).data).toMatchObject([{ message: 'ordered' }])
    expect(await orders()).toBe(1)
    expect(eventsLogged().filter(event => event === 'job.succeeded')).toHaveLength(1)
    expect(eventsLogged()).not.toContain('lease.lost')
  })

  it('can be completed twice in the transaction', async () => {
    const life = await live(one =>
      transaction(async client => {
        await one.complete(client, 'first')
        await one.complete(client, 'second')
      }),
    )
    expect(life).toMatchObject({ job: { state: 'succeeded', result: 'first' }, statuses: ['succeeded'] })
  })

  it('fails when the transaction rolls back and the handler throws, with that error', async () => {
    const life = await live(one =>
      transaction(async client => {
        await one.complete(client)
        if (one.attempt === 1) throw new Error('no stock')
      }),
    )
    expect(life).toMatchObject({ statuses: ['failed', 'succeeded'], errors: ['no stock', undefined] })
    expect(await orders()).toBe(1)
  })

  it('fails when the transaction rolls back, even if the handler returns normally', async () => {
    const life = await live(async one => {
      const done = transaction(async client => {
        await one.complete(client)
        if (one.attempt === 1) throw new Error('swallowed')
      })
      await done.catch(() => undefined)
    })
    expect(life).toMatchObject({ statuses: ['failed', 'succeeded'], errors: ['ROLLED_BACK', undefined] })
    expect(await orders()).toBe(1)
  })

  it('can be completed in a second transaction after a rollback, and keeps its logs', async () => {
    const life = await live(async one => {
      one.log('before')
      const first = transaction(async client => {
        await one.complete(client)
        throw new Error('a conflict')
      })
      await first.catch(() => one.log('again'))
      await transaction(client => one.complete(client))
    })
    expect(life.statuses).toEqual(['succeeded'])
    expect((await chronos.jobs.logs(life.job.id)).data).toMatchObject([{ message: 'before' }, { message: 'again' }])
  })

  it('is settled after the transaction ends if the handler returns first', async () => {
    const life = await live(async one => {
      const client = await pool.connect()
      await client.query(`BEGIN; INSERT INTO ${schema}.orders VALUES (1)`)
      await one.complete(client)
      const late = client.query('SELECT pg_sleep(0.3)').then(() => client.query('COMMIT'))
      void late.then(() => client.release())
    })
    expect(life).toMatchObject({ job: { state: 'succeeded' }, statuses: ['succeeded'] })
    expect(await orders()).toBe(1)
  })

  it('stays succeeded when the handler throws after the commit, with a warning', async () => {
    const life = await live(async one => {
      await transaction(client => one.complete(client, 'done'))
      throw new Error('too late')
    })
    expect(life).toMatchObject({ job: { state: 'succeeded', result: 'done' }, statuses: ['succeeded'] })
    expect(eventsLogged()).toContain('handler.failed-after-commit')
  })

  it('lets its handler continue after the commit, for longer than its lease', async () => {
    let aborted: boolean | undefined
    const life = await live(
      async one => {
        await transaction(client => one.complete(client))
        await sql('SELECT pg_sleep(4)')
        aborted = one.signal.aborted
      },
      { lease: '3s' },
    )
    expect(life.statuses).toEqual(['succeeded'])
    expect(aborted).toBe(false)
    expect(eventsLogged()).not.toContain('lease.lost')
  })

  it('rolls the transaction back when the lease was lost', async () => {
    let told: unknown
    const life = await live(
      async one => {
        const done = transaction(async client => {
          if (one.attempt === 1) await takeAway(one.id)
          await one.complete(client)
        })
        await done.catch(error => {
          told = error
          throw error
        })
      },
      // The worker gets no notification about the retry.
      { poll: '100ms' },
    )
    expect(told).toMatchObject({ code: 'LEASE_LOST', details: { jobId: life.job.id, run: 1 } })
    expect(life.statuses).toEqual(['failed', 'succeeded'])
    expect(eventsLogged().filter(event => event === 'lease.lost')).toHaveLength(1)
    expect(await orders()).toBe(1)
  })

  /** Ends the run from outside, as a sweeper would. */
  async function takeAway(id: string): Promise<void> {
    const store = await openStore({ schema })
    const [row] = await sql<{ token: string }>(`SELECT token FROM ${schema}.jobs WHERE id = $1`, [id])
    const held = { ...(await store.get(id))!, token: row!.token, workerId: 'w', leaseUntil: 0 }
    expect(await store.settle([settlement(held as never, 'failed')])).toMatchObject([{ status: 'settled' }])
    await store.close()
  }

  it('is not completed after its timeout', async () => {
    const life = await live(
      async one => {
        await new Promise(resolve => one.signal.addEventListener('abort', resolve))
        await transaction(client => one.complete(client))
      },
      { timeout: '100ms' },
    )
    expect(life).toMatchObject({ job: { state: 'dead' }, statuses: ['timed-out', 'timed-out', 'timed-out'] })
    expect(await orders()).toBe(0)
  })

  it.each([
    ['nothing', () => undefined, 'INVALID_OPTION'],
    ['a pool', () => pool, 'INVALID_OPTION'],
    ['an object without a query method', () => ({ execute: () => undefined }), 'STORE_NOT_SUPPORTED'],
  ])('rejects %s as a transaction', async (_what, tx, code) => {
    const codes: unknown[] = []
    const life = await live(one => one.complete(tx() as never).catch(error => codes.push(error.code)))
    expect(codes[0]).toBe(code)
    expect(life.job.state, 'a transaction that never was did not commit').toBe(
      tx() === undefined ? 'succeeded' : 'dead',
    )
  })

  it('rejects calls that would wait for the transaction', async () => {
    const told: unknown[] = []
    await live(one =>
      transaction(async client => {
        await one.complete(client)
        await Promise.resolve(one)
          .then(held => held.once('mail', () => 1))
          .catch(error => told.push(error))
      }),
    )
    expect(told).toMatchObject([{ code: 'NOT_ALLOWED' }])
  })

  it('runs again when its process is killed before the commit, without its earlier writes', async () => {
    const order = defineJob({
      name: 'order',
      retry,
      run: (_: null, one) => transaction(client => one.complete(client, 'here')),
    })
    const { id } = await chronos.enqueue(order, null)
    const worker = await startProcess('store/postgres/writes/completing.js', [url, schema])
    await message(worker, 'completed')
    worker.kill('SIGKILL')
    await exitOf(worker)
    expect(await chronos.jobs.get(id)).toMatchObject({ state: 'running' })
    const ended = new Promise<void>(resolve => chronos.on('job.succeeded', () => resolve()))
    const here = chronos.work([order], { lease: '1s', signals: false })
    await ended
    await here.stop()
    expect(await chronos.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 'here' })
    expect((await chronos.jobs.history(id)).data.map(({ status }) => status)).toEqual(['succeeded', 'lost'])
    expect(await orders(), 'only the one of the second run').toBe(1)
  })
})

describe('while such a transaction is open', () => {
  let store: Store
  let client: pg.PoolClient

  beforeEach(async () => {
    store = await openStore({ schema })
    client = await pool.connect()
    await client.query('BEGIN')
  })

  afterEach(async () => {
    client.release()
    await store.close()
  })

  it('the leases of other jobs are renewed, and this one is reported as locked', async () => {
    await store.enqueue(jobs(3))
    const { jobs: claimed } = await store.claim(request())
    const leases = claimed.map(({ id, token }) => ({ id, token }))
    expect(await store.settle([settlement(claimed[1]!)], client)).toMatchObject([{ status: 'settled' }])
    expect(await store.extend(leases, 30_000)).toEqual(['held', 'locked', 'held'])
    await client.query('ROLLBACK')
    expect(await store.extend(leases, 30_000)).toEqual(['held', 'held', 'held'])
    await client.query('BEGIN')
    await store.settle([settlement(claimed[1]!)], client)
    await client.query('COMMIT')
    expect(await store.extend(leases, 30_000)).toEqual(['held', 'lost', 'held'])
    expect(await store.settle([settlement(claimed[1]!)])).toEqual([{ status: 'already' }])
  })

  it('a sweeper does not wait for it, and finds the job after a rollback', async () => {
    await store.enqueue([job()])
    const { jobs: claimed } = await store.claim(request({ leaseMs: 1 }))
    await store.settle([settlement(claimed[0]!)], client)
    await sql('SELECT pg_sleep(0.02)')
    expect((await store.expired({ workers: 10 })).jobs).toEqual([])
    await client.query('ROLLBACK')
    expect((await store.expired({ workers: 10 })).jobs).toMatchObject([{ id: claimed[0]!.id }])
  })
})
