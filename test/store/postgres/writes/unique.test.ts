import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LOCKED_VALUES_MAX } from '../../../../src/store/postgres/writes/unique.js'
import type { Enqueued, NewJob, Store } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { expectBalance, foldAll, job, request, settlement } from '../bench.js'

afterAll(dropSchemas)

let schema: string
let stores: Store[]
let client: pg.Client

beforeEach(async () => {
  schema = freshSchema()
  stores = await Promise.all([1, 2, 3].map(() => openStore({ schema })))
  await stores[0]!.migrate()
  client = new pg.Client(await postgresUrl())
  await client.connect()
})

afterEach(async () => {
  await client.end()
  await Promise.all(stores.map(store => store.close()))
})

const REPLACE = { unique: 'u', replacement: { mode: 'replace' } } as const
const DEBOUNCE = {
  unique: 'u',
  replacement: { mode: 'debounce', forMs: 60_000, maxWaitMs: 600_000 },
  runAt: { delayMs: 60_000 },
} as const

const put = async (store: Store, given: Partial<NewJob>, tx?: unknown): Promise<Enqueued> =>
  (await store.enqueue([job(given)], tx))[0]!
const payloadOf = async (id: string): Promise<string> => (await stores[0]!.get(id))!.payload

async function verified(): Promise<void> {
  await foldAll(stores[0]!)
  await expectBalance(stores[0]!)
}

/** Waits until a statement of this schema waits for a lock. */
const blocked = () =>
  expect
    .poll(
      () =>
        sql(`SELECT 1 FROM pg_stat_activity
          WHERE wait_event_type = 'Lock' AND query LIKE '%${schema}%' AND pid <> pg_backend_pid()`),
      { timeout: 10_000 },
    )
    .not.toEqual([])

/** The advisory locks that the transaction of the client holds. */
async function locksHeld(): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`,
  )
  return rows[0]!.count
}

describe('a batch with many values', () => {
  const values = Array.from({ length: LOCKED_VALUES_MAX + 1 }, (_, value) => `many ${value}`)
  const batch = (payload: string) => values.map(unique => job({ ...REPLACE, unique, payload }))

  it('takes few locks, and others that replace wait for it', async () => {
    const few = job({ ...REPLACE, unique: values[7]!, payload: '"few"', runAt: { delayMs: 60_000 } })
    await stores[0]!.enqueue([few])
    await client.query('BEGIN')
    await stores[0]!.enqueue(batch('"many"'), client)
    expect(await locksHeld()).toBeLessThan(10)
    const later = put(stores[1]!, { ...REPLACE, unique: values[7]!, payload: '"later"' })
    await blocked()
    await client.query('COMMIT')
    expect(await later).toMatchObject({ status: 'replaced', id: few.id })
    expect(await payloadOf(few.id)).toBe('"later"')
    await verified()
  })

  it('waits for others that replace', async () => {
    await client.query('BEGIN')
    const first = await put(stores[0]!, { ...REPLACE, unique: values[7]!, payload: '"first"' }, client)
    const many = stores[1]!.enqueue(batch('"many"'))
    await blocked()
    await client.query('COMMIT')
    expect((await many).filter(({ status }) => status === 'replaced')).toMatchObject([{ id: first.id }])
    expect(await payloadOf(first.id)).toBe('"many"')
    await verified()
  })
})

describe('several stores that replace payloads', () => {
  it('create one job with the payload that was committed last', async () => {
    for (let round = 0; round < 4; round++) {
      const unique = `u${round}`
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          put(stores[index % 3]!, { ...DEBOUNCE, unique, payload: String(index) }),
        ),
      )
      expect(answers.filter(({ status }) => status === 'created')).toHaveLength(1)
      expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
      // A call that starts after an answer is committed later than that one.
      const last = await put(stores[round % 3]!, { ...DEBOUNCE, unique, payload: '"last"' })
      expect(last).toMatchObject({ status: 'replaced', id: answers[0]!.id })
      expect(await payloadOf(last.id)).toBe('"last"')
    }
    expect((await stores[0]!.count({}, 100)).value).toBe(4)
    await verified()
  })

  it('replace the payloads of batches in any order', async () => {
    const values = Array.from({ length: 40 }, (_, index) => `v${index}`)
    const batch = (order: string[]) => order.map(unique => job({ ...REPLACE, unique }))
    const answers = await Promise.all(
      Array.from({ length: 9 }, (_, index) => {
        const order = index % 2 === 0 ? values : [...values].reverse()
        return stores[index % 3]!.enqueue(batch([...order, ...order]))
      }),
    )
    expect(answers.flat().filter(({ status }) => status === 'created')).toHaveLength(40)
    expect((await stores[0]!.count({}, 100)).value).toBe(40)
    await verified()
  })

  it('lose no payload while workers claim and settle the same jobs', async () => {
    const ran: number[] = []
    const answered: number[] = []
    let isOver = false
    const work = async (store: Store, index: number): Promise<void> => {
      for (;;) {
        const wasOver = isOver
        const { jobs } = await store.claim(request({ workerId: `worker-${index}`, limit: 5 }))
        for (const one of jobs) ran.push(Number(one.payload))
        // Every third run fails and is retried at once, with whatever payload it then has.
        const ends = jobs.map((one, place) => settlement(one, (one.run + place) % 3 === 0 ? 'failed' : 'succeeded'))
        if (jobs.length > 0) await store.settle(ends)
        else if (wasOver) return
      }
    }
    const workers = stores.map((store, index) => work(store, index))
    let next = 0
    const enqueue = async (store: Store): Promise<void> => {
      while (next < 200) {
        const payload = next++
        await put(store, { ...REPLACE, payload: String(payload) })
        answered.push(payload)
      }
    }
    await Promise.all([...stores, ...stores].map(enqueue))
    const last = await put(stores[0]!, { ...REPLACE, payload: '1000' })
    isOver = true
    await Promise.all(workers)
    expect(answered).toHaveLength(200)
    expect(ran).toContain(1_000)
    expect((await stores[0]!.get(last.id))!.state).toBe('succeeded')
    expect((await stores[0]!.count({ state: ['waiting', 'running'] }, 10)).value).toBe(0)
    await verified()
  })

  it('have one winner of a throttle', async () => {
    const throttle = { value: 'u', forMs: 60_000 }
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        put(stores[index % 3]!, { throttle, key: `k${index}`, payloadHash: 'h' }),
      ),
    )
    expect(answers.filter(({ status }) => status === 'created')).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 'existing')).toHaveLength(29)
    expect(await sql(`SELECT key FROM ${schema}.keys WHERE key LIKE 'k%'`)).toHaveLength(1)
    await verified()
  })
})

describe("a payload that is replaced in a caller's transaction", () => {
  it('becomes visible with the commit, and no worker claims the job before', async () => {
    const { id } = await put(stores[0]!, { ...REPLACE, payload: '1' })
    await client.query('BEGIN')
    expect(await put(stores[0]!, { ...REPLACE, payload: '2' }, client)).toMatchObject({ status: 'replaced', id })
    expect((await stores[1]!.claim(request())).jobs).toEqual([])
    expect(await payloadOf(id)).toBe('1')
    await client.query('COMMIT')
    expect((await stores[1]!.claim(request())).jobs).toMatchObject([{ id, payload: '2' }])
  })

  it('stays as it was after a rollback, and the same call can be repeated', async () => {
    const { id } = await put(stores[0]!, { ...DEBOUNCE, payload: '1' })
    const { runAt } = (await stores[0]!.get(id))!
    const later = job({ ...DEBOUNCE, payload: '2', replacement: { ...DEBOUNCE.replacement, forMs: 120_000 } })
    await client.query('BEGIN')
    await stores[0]!.enqueue([later], client)
    await client.query('ROLLBACK')
    expect(await stores[0]!.get(id)).toMatchObject({ payload: '1', runAt })
    expect(await stores[0]!.enqueue([later])).toMatchObject([{ status: 'replaced', id }])
    expect(await payloadOf(id)).toBe('2')
  })

  it('leaves a running job alone, so that its worker can settle and renew it', async () => {
    const { id } = await put(stores[0]!, REPLACE)
    const [claimed] = (await stores[1]!.claim(request())).jobs
    await client.query('BEGIN')
    expect(await put(stores[0]!, { ...REPLACE, payload: '2' }, client)).toMatchObject({ status: 'created' })
    expect(await stores[1]!.extend([{ id, token: claimed!.token }], 30_000)).toEqual(['held'])
    expect(await stores[1]!.settle([settlement(claimed!)])).toMatchObject([{ status: 'settled' }])
    await client.query('COMMIT')
    expect((await stores[1]!.claim(request())).jobs).toMatchObject([{ payload: '2' }])
  })

  it('leaves a job alone that is claimed at the same moment', async () => {
    const { id } = await put(stores[0]!, REPLACE)
    // Stands for a claim that is not yet committed.
    const claim = new pg.Client(await postgresUrl())
    await claim.connect()
    await claim.query('BEGIN')
    await claim.query(
      `UPDATE ${schema}.jobs SET state = 'running', token = 't', run = 1, attempt = 1, worker_id = 'w',
       lease_until = 32503680000000, lease_ms = 30000 WHERE id = $1`,
      [id],
    )
    await client.query('BEGIN')
    const replacing = put(stores[0]!, { ...REPLACE, payload: '2' }, client)
    await blocked()
    await claim.query('COMMIT')
    expect(await replacing).toMatchObject({ status: 'created' })
    await claim.query(`UPDATE ${schema}.jobs SET lease_ms = 30001 WHERE id = $1`, [id])
    await client.query('COMMIT')
    await claim.end()
    expect(await payloadOf(id)).toBe('{}')
  })

  it('makes another enqueue of the value wait for the commit', async () => {
    const { id } = await put(stores[0]!, { ...REPLACE, payload: '1' })
    await client.query('BEGIN')
    await put(stores[0]!, { ...REPLACE, payload: '2' }, client)
    const other = put(stores[1]!, { ...REPLACE, payload: '3' })
    await blocked()
    await client.query('COMMIT')
    expect(await other).toMatchObject({ status: 'replaced', id })
    expect(await payloadOf(id)).toBe('3')
  })

  it('can follow another one in the same transaction', async () => {
    await client.query('BEGIN')
    const first = await put(stores[0]!, { ...REPLACE, payload: '1' }, client)
    const second = await put(stores[0]!, { ...REPLACE, payload: `"${'l'.repeat(2_000)}"` }, client)
    const throttle = { throttle: { value: 'u', forMs: 60_000 } }
    const third = await put(stores[0]!, throttle, client)
    expect(await put(stores[0]!, throttle, client)).toEqual({ status: 'existing', id: third.id })
    await client.query('COMMIT')
    expect(second).toMatchObject({ status: 'replaced', id: first.id })
    expect(await payloadOf(first.id)).toBe(`"${'l'.repeat(2_000)}"`)
    await verified()
  })
})
