import { afterAll, describe, expect, it } from 'vitest'
import { systemClock, systemDice } from '../../../../src/engine/time/system.js'
import { createChronos, defineJob } from '../../../../src/index.js'
import { postgres } from '../../../../src/postgres.js'
import { Database } from '../../../../src/store/postgres/connection/pool.js'
import { sharesOf } from '../../../../src/store/postgres/connection/shares.js'
import { dropSchemas, freshSchema, postgresUrl, sql } from '../../../support/postgres.js'

afterAll(dropSchemas)

/** A role that the server itself limits to this many connections. */
async function limitedRole(connections: number) {
  const schema = freshSchema()
  const role = `${schema}_few`
  const url = new URL(await postgresUrl())
  await sql(`CREATE ROLE ${role} LOGIN PASSWORD 'few' CONNECTION LIMIT ${connections}`)
  await sql(`CREATE SCHEMA ${schema} AUTHORIZATION ${role}`)
  url.username = role
  url.password = 'few'
  return { schema, url: url.href, [Symbol.asyncDispose]: () => drop(schema, role) }
}

async function drop(schema: string, role: string): Promise<void> {
  await sql(`DROP SCHEMA ${schema} CASCADE`)
  await sql(`DROP ROLE ${role}`)
}

/** A database with one connection for reads. */
async function oneConnection(statementMs: number) {
  const place = { url: await postgresUrl() }
  const connections = { control: 1, work: 1 }
  const parts = { place, schema: freshSchema(), clock: systemClock, dice: systemDice, connections, statementMs }
  const db = new Database(parts)
  return Object.assign(db, { [Symbol.asyncDispose]: () => db.close() })
}

describe('a process with few connections', () => {
  it.each([2, 3])('runs and retries jobs with at most %i of them', { timeout: 60_000 }, async max => {
    await using role = await limitedRole(max)
    const { schema, url } = role
    await using chronos = createChronos({ store: postgres({ url, schema, connections: { max } }), log: false })
    const ran = new Map<number, number>()
    const job = defineJob({
      name: 'work',
      retry: { maxRetries: 1, backoff: { type: 'fixed', delay: 10 }, jitter: 'none' },
      run(number: number) {
        ran.set(number, (ran.get(number) ?? 0) + 1)
        if (number % 10 === 0 && ran.get(number) === 1) throw new Error('once')
      },
    })
    const numbers = Array.from({ length: 100 }, (_, number) => number)
    const done = new Promise<void>(resolve => {
      let succeeded = 0
      chronos.on('job.succeeded', () => {
        if (++succeeded === 2 * numbers.length) resolve()
      })
    })
    const worker = chronos.work([job], { signals: false, concurrency: 20 })
    await chronos.enqueueMany(job, numbers)
    await Promise.all(numbers.map(number => chronos.enqueue(job, 100 + number)))
    await done
    await worker.stop()
    expect((await chronos.jobs.count({ state: 'succeeded' })).value).toBe(200)
    expect(ran.get(0)).toBe(2)
    expect((await chronos.verify()).isSound).toBe(true)
  })

  it('lets calls wait for their turn, longer than a statement may take, while others are answered', async () => {
    await using db = await oneConnection(1_000)
    const answers = await Promise.all(Array.from({ length: 10 }, () => db.read('SELECT pg_sleep(0.25), 1')))
    expect(answers.map(([row]) => row?.[1])).toEqual(answers.map(() => 1))
  })

  it('says that its connections are in use, not that the server is away', async () => {
    await using db = await oneConnection(200)
    const [first, second] = await Promise.allSettled([db.read('SELECT pg_sleep(60)'), db.read('SELECT 1')])
    expect(first).toMatchObject({ reason: { message: expect.stringContaining('took too long') } })
    expect(second).toMatchObject({
      reason: {
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining('all connections of this process were in'),
      },
    })
  })

  it('divides them by what matters most, and needs two', () => {
    expect(sharesOf(2)).toEqual({ control: 1, work: 1, isListening: false, isGuarded: false })
    expect(sharesOf(3)).toEqual({ control: 1, work: 1, isListening: true, isGuarded: false })
    expect(sharesOf(4)).toEqual({ control: 1, work: 1, isListening: true, isGuarded: true })
    expect(sharesOf(8)).toEqual({ control: 3, work: 3, isListening: true, isGuarded: true })
    expect(sharesOf(undefined)).toEqual({ control: 3, work: 4, isListening: true, isGuarded: true })
    expect(sharesOf(50)).toEqual(sharesOf(undefined))
  })

  it('is refused at once if there is only one', () => {
    const refused = {
      code: 'INVALID_OPTION',
      message: expect.stringContaining('expected a whole number of at least 2, got 1'),
    }
    expect(() => postgres({ url: 'postgres://x/y', connections: { max: 1 } })).toThrow(expect.objectContaining(refused))
    expect(() => postgres('postgres://x/y?connections=1')).toThrow(expect.objectContaining(refused))
    expect(() => postgres('postgres://x/y?connections=two')).toThrow(/got NaN/)
  })
})
