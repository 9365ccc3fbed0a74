import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock, systemDice } from '../../../../src/engine/time/system.js'
import { Database } from '../../../../src/store/postgres/connection/pool.js'
import { dropSchemas, freshSchema, postgresUrl } from '../../../support/postgres.js'

afterAll(dropSchemas)

const TRANSACTION = 'SELECT pg_current_xact_id()::text'

let db: Database

beforeEach(async () => {
  db = new Database({
    place: { url: await postgresUrl() },
    schema: freshSchema(),
    clock: systemClock,
    dice: systemDice,
  })
})

afterEach(() => db.close())

it('answers the short reads of one moment in one transaction, and each with its own rows', async () => {
  const together = await Promise.all([
    db.readShort<[string]>(TRANSACTION),
    db.readShort<[number]>('SELECT n FROM generate_series(1, $1::integer) AS n', 3),
    db.readShort<[string]>(TRANSACTION),
  ])
  expect(together[0]).toEqual(together[2])
  expect(together[1]).toEqual([[1], [2], [3]])
  expect(await db.readShort<[string]>(TRANSACTION), 'a later one has its own').not.toEqual(together[0])
})

it('sends a read alone whose last answer was long, so that no other waits for it', async () => {
  const many = 'SELECT pg_current_xact_id()::text FROM generate_series(1, $1::integer)'
  const together = async (rows: number): Promise<boolean> => {
    const [[long], [short]] = await Promise.all([
      db.readShort<[string]>(many, rows),
      db.readShort<[string]>(TRANSACTION),
    ])
    return long![0] === short![0]
  }
  expect(await together(2_000), 'nothing is known about it yet').toBe(true)
  expect(await together(1), 'its last answer was long').toBe(false)
  expect(await together(1), 'its last answer was short').toBe(true)
})

it('fails no read because of another', async () => {
  const [good, bad, other] = await Promise.allSettled([
    db.readShort('SELECT 1'),
    db.readShort('SELECT 1 / 0'),
    db.readShort('SELECT 2'),
  ])
  expect([good, other]).toEqual([
    { status: 'fulfilled', value: [[1]] },
    { status: 'fulfilled', value: [[2]] },
  ])
  expect(bad).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('division by zero') } })
})

it('answers more reads than one transaction takes', async () => {
  const reads = Array.from({ length: 45 }, (_, n) => db.readShort<[number]>('SELECT $1::integer', n))
  expect(await Promise.all(reads)).toEqual(Array.from({ length: 45 }, (_, n) => [[n]]))
})
