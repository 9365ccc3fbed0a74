import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Chronos, createChronos, defineJob } from '../../../../src/index.js'
import { postgres } from '../../../../src/postgres.js'
import type { PostgresStore } from '../../../../src/store/postgres/store.js'
import type { Claim } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { job, request } from '../bench.js'

afterAll(dropSchemas)

let schema: string

beforeEach(() => {
  schema = freshSchema()
})

/** Whether the transaction that claimed the job also counted an enqueue. */
async function wasClaimedAlong(id: string): Promise<boolean> {
  const counted = `SELECT d.xmin::text FROM ${schema}.deltas d`
  const [row] = await sql<{ along: boolean }>(
    `SELECT j.xmin::text IN (${counted}) AS along FROM ${schema}.jobs j WHERE id = $1`,
    [id],
  )
  return row!.along
}

describe('a claim that joins an enqueue', () => {
  let store: PostgresStore

  beforeEach(async () => {
    store = await openStore({ schema })
    await store.migrate()
  })

  afterEach(() => store.close())

  it('shares its transaction, and claims its jobs', async () => {
    const mine = job()
    const enqueuing = store.enqueue([mine])
    const asked = request({ isAlong: true })
    const claim = await store.claim(asked)
    expect(await enqueuing).toEqual([{ status: 'created', id: mine.id }])
    expect(claim).toMatchObject({ isAlong: true, jobs: [{ id: mine.id, run: 1, token: asked.token }] })
    expect(await wasClaimedAlong(mine.id)).toBe(true)
    expect((await store.claim(asked)).jobs.map(({ id }) => id)).toEqual([mine.id])
    expect((await store.claim(request())).jobs).toEqual([])
  })

  it('is the only one that joins; other claims run alone', async () => {
    const enqueuing = store.enqueue([job(), job()])
    const claims = await Promise.all([1, 2].map(() => store.claim(request({ isAlong: true, limit: 1 }))))
    await enqueuing
    expect(claims.map(({ isAlong }) => isAlong)).toEqual([true, undefined])
    const rest = await store.claim(request())
    expect([...claims, rest].flatMap(claim => claim.jobs)).toHaveLength(2)
  })

  it('runs alone without an enqueue', async () => {
    await store.enqueue([job()])
    const claim = await store.claim(request({ isAlong: true }))
    expect(claim.isAlong).toBeUndefined()
    expect(claim.jobs).toHaveLength(1)
    expect(await wasClaimedAlong(claim.jobs[0]!.id)).toBe(false)
  })

  it('runs alone if the enqueue has to check keys first', async () => {
    const enqueuing = store.enqueue([job({ key: 'k', payloadHash: 'h' })])
    const claim = await store.claim(request({ isAlong: true }))
    expect(claim.isAlong).toBeUndefined()
    await enqueuing
    const rest = await store.claim(request())
    expect([...claim.jobs, ...rest.jobs]).toHaveLength(1)
  })

  it('does not make the enqueue fail when it fails', async () => {
    await sql(`ALTER TABLE ${schema}.queues RENAME COLUMN paused TO hidden`)
    const mine = job({ queue: 'default' })
    const enqueuing = store.enqueue([mine])
    const claiming = store.claim(request({ isAlong: true })).catch(error => error as Error)
    expect(await enqueuing).toEqual([{ status: 'created', id: mine.id }])
    expect(await claiming).toBeInstanceOf(Error)
    await sql(`ALTER TABLE ${schema}.queues RENAME COLUMN hidden TO paused`)
    expect((await store.claim(request())).jobs.map(({ id }) => id)).toEqual([mine.id])
  })

  it('loses nothing if the connection breaks while both are in flight', async () => {
    const holder = new pg.Client(await postgresUrl())
    await holder.connect()
    await holder.query(`BEGIN; LOCK TABLE ${schema}.deltas IN EXCLUSIVE MODE`)
    const mine = job()
    const enqueuing = store.enqueue([mine]).catch(error => error as Error)
    const asked = request({ isAlong: true })
    const claiming = store.claim(asked)
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND query LIKE '%${schema}%' AND pid <> pg_backend_pid()`
    await expect.poll(async () => (await sql(cut)).length).toBe(1)
    expect(await enqueuing).toMatchObject({ code: 'STORE_UNKNOWN' })
    expect(await claiming).toMatchObject({ jobs: [] })
    await holder.end()
    expect(await store.enqueue([mine])).toEqual([{ status: 'created', id: mine.id }])
    expect((await store.claim(asked)).jobs.map(({ id }) => id)).toEqual([mine.id])
    expect((await store.audit()).findings).toEqual([])
  })

  it('is repeated alone if the enqueue is rejected', async () => {
    const waiting = job()
    await store.enqueue([waiting])
    const enqueuing = store.enqueue([job({ priority: 12 })]).catch(error => error as Error)
    const claim = await store.claim(request({ isAlong: true }))
    expect(await enqueuing).toMatchObject({ code: 'INVALID_OPTION' })
    expect(claim.isAlong).toBeUndefined()
    expect(claim.jobs.map(({ id }) => id)).toEqual([waiting.id])
  })
})

describe('an idle worker', () => {
  let chronos: Chronos

  beforeEach(async () => {
    chronos = createChronos({ store: postgres(`${await postgresUrl()}?schema=${schema}`), log: false })
  })

  afterEach(() => chronos.close())

  it('starts a job of its own process with the commit of the enqueue', async () => {
    let [started, over] = [heard<string>(), heard<void>()]
    const mail = defineJob({
      name: 'mail',
      run: async (_, { id }) => {
        started.tell(id)
        await over.next
      },
    })
    const worker = chronos.work([mail], { poll: '1h', signals: false })
    // At first it may still be looking for work.
    const next = async () => {
      await chronos.enqueue(mail, {})
      const along = await wasClaimedAlong(await started.next)
      over.tell()
      ;[started, over] = [heard<string>(), heard<void>()]
      return along
    }
    await expect.poll(next).toBe(true)
    await worker.stop()
  })

  it('claims once for a job of its own process, with the enqueue', async () => {
    const store = await chronos.store()
    const claims: Promise<Claim>[] = []
    const claim = store.claim.bind(store)
    store.claim = request => {
      claims.push(claim(request))
      return claims.at(-1)!
    }
    let started = heard<string>()
    const mail = defineJob({ name: 'mail', run: async (_, { id }) => started.tell(id) })
    const worker = chronos.work([mail], { poll: '1h', signals: false })
    const next = async () => {
      claims.length = 0
      started = heard<string>()
      const { id } = await chronos.enqueue(mail, {})
      expect(await started.next).toBe(id)
      return (await Promise.all(claims)).map(({ isAlong, jobs }) => [isAlong, jobs.map(each => each.id === id)])
    }
    // At first it may still be looking for work.
    await expect.poll(next).toEqual([[true, [true]]])
    await worker.stop()
  })

  it.each([{}, { key: 'k' }, { unique: 'u' }])('starts a job of any queue at once, with %j', async options => {
    const [a, b] = [heard<string>(), heard<string>()]
    const first = defineJob({ name: 'first', queue: 'a', run: async (_, { id }) => a.tell(id) })
    const second = defineJob({ name: 'second', queue: 'b', run: async (_, { id }) => b.tell(id) })
    const workers = [first, second].map((each, index) =>
      chronos.work([each], { queues: ['ab'[index]!], poll: '1h', signals: false }),
    )
    const enqueued = [await chronos.enqueue(second, {}, options), await chronos.enqueue(first, {}, options)]
    // The next poll would come much later.
    expect([await b.next, await a.next]).toEqual(enqueued.map(({ id }) => id))
    await Promise.all(workers.map(worker => worker.stop()))
  })
})

/** A promise with its resolver. */
function heard<T>() {
  let tell: (value: T) => void = () => undefined
  const next = new Promise<T>(resolve => {
    tell = resolve
  })
  return { next, tell: (value: T) => tell(value) }
}
