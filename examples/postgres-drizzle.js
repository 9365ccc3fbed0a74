// Orders and jobs commit together in one Drizzle transaction, or not at all. CHRONOS_STORE is the address of the database.
import { createChronos, defineJob } from 'chronos-jobs'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable } from 'drizzle-orm/pg-core'
import pg from 'pg'

const store = process.env['CHRONOS_STORE'] ?? 'postgres://localhost/postgres'
const pool = new pg.Pool({ connectionString: store })
const db = drizzle(pool)
const orders = pgTable('drizzle_orders', { id: integer().primaryKey() })
const parcels = pgTable('drizzle_parcels', { orderId: integer().primaryKey() })
for (const name of ['drizzle_orders (id', 'drizzle_parcels ("orderId"']) {
  await db.execute(sql.raw(`CREATE TABLE ${name} integer PRIMARY KEY)`))
}

/** The adapter. @param {Pick<typeof db, 'execute'>} tx @returns {import('chronos-jobs/postgres').PostgresTransaction} */
const through = tx => ({
  query(text, values) {
    const parts = text
      .split(/\$(\d+)/)
      .map((part, at) => (at % 2 ? sql.param(values[Number(part) - 1]) : sql.raw(part)))
    return tx.execute(sql.join(parts))
  },
})

const ship = defineJob({
  name: 'ship',
  /** @param {{ orderId: number }} payload */
  run: ({ orderId }, job) =>
    db.transaction(async tx => {
      await tx.insert(parcels).values({ orderId })
      await job.complete(through(tx), `order ${orderId} is on its way`)
    }),
})

const chronos = createChronos({ store, log: false })
/** @param {number} id @param {boolean} paid */
const order = (id, paid) =>
  db.transaction(async tx => {
    await tx.insert(orders).values({ id })
    await chronos.enqueue(ship, { orderId: id }, { tx: through(tx), key: `order:${id}` })
    if (!paid) throw new Error(`order ${id} is not paid`)
  })

await order(1, false).catch(error => console.log(error.message))
console.log(await db.$count(orders), 'orders,', (await chronos.jobs.count({})).value, 'jobs')
await order(2, true)
console.log(await db.$count(orders), 'order,', (await chronos.jobs.count({})).value, 'job')

/** @type {Promise<unknown>} */
const shipped = new Promise(resolve => chronos.on('job.succeeded', ({ result }) => resolve(result)))
chronos.work([ship])
console.log(await shipped)
console.log(await db.$count(parcels), 'parcel')
await chronos.close()
await db.execute(sql.raw('DROP TABLE drizzle_orders, drizzle_parcels'))
await pool.end()

// Output:
// order 1 is not paid
// 0 orders, 0 jobs
// 1 order, 1 job
// order 2 is on its way
// 1 parcel
