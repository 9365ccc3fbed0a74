// Orders and jobs commit together in one knex transaction, or not at all. CHRONOS_STORE is the address of the database.
import { createChronos, defineJob } from 'chronos-jobs'
import knex from 'knex'

const store = process.env['CHRONOS_STORE'] ?? 'postgres://localhost/postgres'
const db = knex({ client: 'pg', connection: store })
await db.schema.createTable('knex_orders', table => table.integer('id').primary())
await db.schema.createTable('knex_parcels', table => table.integer('orderId').primary())

/** The adapter. @param {import('knex').Knex.Transaction} trx @returns {import('chronos-jobs/postgres').PostgresTransaction} */
const through = trx => ({
  query(text, values) {
    const named = text.match(/\$\d+/g) ?? []
    const bindings = named.map(name => values[Number(name.slice(1)) - 1])
    return trx.raw(text.replaceAll(/\$\d+/g, '?'), /** @type {string[]} */ (bindings))
  },
})

const ship = defineJob({
  name: 'ship',
  /** @param {{ orderId: number }} payload */
  run: ({ orderId }, job) =>
    db.transaction(async trx => {
      await trx('knex_parcels').insert({ orderId })
      await job.complete(through(trx), `order ${orderId} is on its way`)
    }),
})

const chronos = createChronos({ store, log: false })
/** @param {number} id @param {boolean} paid */
const order = (id, paid) =>
  db.transaction(async trx => {
    await trx('knex_orders').insert({ id })
    await chronos.enqueue(ship, { orderId: id }, { tx: through(trx), key: `order:${id}` })
    if (!paid) throw new Error(`order ${id} is not paid`)
  })
/** @param {string} table @returns {Promise<number>} */
const count = async table => (await db(table)).length

await order(1, false).catch(error => console.log(error.message))
console.log(await count('knex_orders'), 'orders,', (await chronos.jobs.count({})).value, 'jobs')
await order(2, true)
console.log(await count('knex_orders'), 'order,', (await chronos.jobs.count({})).value, 'job')

/** @type {Promise<unknown>} */
const shipped = new Promise(resolve => chronos.on('job.succeeded', ({ result }) => resolve(result)))
chronos.work([ship])
console.log(await shipped)
console.log(await count('knex_parcels'), 'parcel')
await chronos.close()
await db.schema.dropTable('knex_orders').dropTable('knex_parcels')
await db.destroy()

// Output:
// order 1 is not paid
// 0 orders, 0 jobs
// 1 order, 1 job
// order 2 is on its way
// 1 parcel
