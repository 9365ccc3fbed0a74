// Orders and jobs commit together in one Kysely transaction, or not at all. CHRONOS_STORE is the address of the database.
// Needs Node 22, as Kysely does.
import { createChronos, defineJob } from 'chronos-jobs'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'

const store = process.env['CHRONOS_STORE'] ?? 'postgres://localhost/postgres'
/** @type {Kysely<{ kysely_orders: { id: number }, kysely_parcels: { orderId: number } }>} */
const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: store }) }) })
await db.schema.createTable('kysely_orders').addColumn('id', 'integer').execute()
await db.schema.createTable('kysely_parcels').addColumn('orderId', 'integer').execute()

/** The adapter. @param {Pick<typeof db, 'executeQuery'>} trx @returns {import('chronos-jobs/postgres').PostgresTransaction} */
const through = trx => ({
  query: (text, values) => trx.executeQuery(/** @type {CompiledQuery<object>} */ (CompiledQuery.raw(text, values))),
})

const ship = defineJob({
  name: 'ship',
  /** @param {{ orderId: number }} payload */
  run: ({ orderId }, job) =>
    db.transaction().execute(async trx => {
      await trx.insertInto('kysely_parcels').values({ orderId }).execute()
      await job.complete(through(trx), `order ${orderId} is on its way`)
    }),
})

const chronos = createChronos({ store, log: false })
/** @param {number} id @param {boolean} paid */
const order = (id, paid) =>
  db.transaction().execute(async trx => {
    await trx.insertInto('kysely_orders').values({ id }).execute()
    await chronos.enqueue(ship, { orderId: id }, { tx: through(trx), key: `order:${id}` })
    if (!paid) throw new Error(`order ${id} is not paid`)
  })
/** @param {'kysely_orders' | 'kysely_parcels'} table */
const count = async table => (await db.selectFrom(table).selectAll().execute()).length

await order(1, false).catch(error => console.log(error.message))
console.log(await count('kysely_orders'), 'orders,', (await chronos.jobs.count({})).value, 'jobs')
await order(2, true)
console.log(await count('kysely_orders'), 'order,', (await chronos.jobs.count({})).value, 'job')

/** @type {Promise<unknown>} */
const shipped = new Promise(resolve => chronos.on('job.succeeded', ({ result }) => resolve(result)))
chronos.work([ship])
console.log(await shipped)
console.log(await count('kysely_parcels'), 'parcel')
await chronos.close()
for (const table of ['kysely_orders', 'kysely_parcels']) await db.schema.dropTable(table).execute()
await db.destroy()

// Output:
// order 1 is not paid
// 0 orders, 0 jobs
// 1 order, 1 job
// order 2 is on its way
// 1 parcel
