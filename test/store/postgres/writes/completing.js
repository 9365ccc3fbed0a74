// A worker process that completes a job in a transaction, reports it, and never commits.
import pg from 'pg'
import { createChronos, defineJob, fixed } from '../../../../dist/index.js'

const [url = '', schema = ''] = process.argv.slice(2)
const client = new pg.Client(url)
await client.connect()

const order = defineJob({
  name: 'order',
  retry: fixed({ delay: '1ms', maxRetries: 2, jitter: 'none' }),
  async run(_payload, job) {
    await client.query('BEGIN')
    await client.query(`INSERT INTO ${schema}.orders VALUES (1)`)
    await job.complete(client, 'there')
    process.send?.('completed')
    await new Promise(() => {})
  },
})

createChronos({ store: `${url}?schema=${schema}`, log: false }).work([order], { lease: '1s', maintenance: false })
process.send?.('ready')
