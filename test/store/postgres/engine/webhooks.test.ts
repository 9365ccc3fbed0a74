import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DELIVERIES, endpointKey } from '../../../../src/core/webhook/delivery.js'
import { type Chronos, createChronos, defineJob, verifyWebhook } from '../../../../src/index.js'
import { postgres } from '../../../../src/postgres.js'
import { type Postbox, postbox } from '../../../engine/webhooks/postbox.js'
import { dropSchemas, freshSchema, postgresUrl } from '../../../support/postgres.js'

afterAll(dropSchemas)

let pool: pg.Pool
let chronos: Chronos
let box: Postbox

beforeEach(async () => {
  const url = await postgresUrl()
  pool = new pg.Pool({ connectionString: url })
  chronos = createChronos({
    store: postgres(`${url}?schema=${freshSchema()}`),
    log: false,
    egress: { allow: ['loopback'] },
  })
  box = await postbox()
})

afterEach(async () => {
  await chronos.close()
  await pool.end()
  await box[Symbol.asyncDispose]()
})

/** Resolves with the next message. */
function nextMessage(): Promise<(typeof box.heard)[0]> {
  return new Promise(resolve => {
    box.answer = heard => {
      resolve(heard)
      return 200
    }
  })
}

describe('webhooks on PostgreSQL', () => {
  it('report the end of a job, and a manual cancellation', async () => {
    const job = defineJob({ name: 'a', run: async (_: null) => 'done' })
    const { secret } = await chronos.webhooks.create({ url: box.url, events: ['job.succeeded', 'job.cancelled'] })
    chronos.work([job], { signals: false })
    const first = nextMessage()
    const { id } = await chronos.enqueue(job, null)
    const { body, headers } = await first
    expect(verifyWebhook({ body, headers, secret })).toMatchObject({ type: 'job.succeeded', data: { jobId: id } })
    const second = nextMessage()
    const waiting = await chronos.enqueue(job, null, { delay: '1h' })
    await chronos.jobs.cancel(waiting.id)
    expect(JSON.parse((await second).body)).toMatchObject({ type: 'job.cancelled', data: { jobId: waiting.id } })
  })

  it('report nothing for a rolled-back success, and the committed one once', async () => {
    const job = defineJob({
      name: 'order',
      retry: { maxRetries: 1, backoff: { type: 'fixed', delay: '1ms' }, jitter: 'none' },
      async run(_: null, one) {
        const client = await pool.connect()
        try {
          await client.query('BEGIN')
          await one.complete(client, one.attempt)
          await client.query(one.attempt === 1 ? 'ROLLBACK' : 'COMMIT')
        } finally {
          client.release()
        }
        if (one.attempt === 1) throw new Error('taken back')
      },
    })
    const { id: webhookId } = await chronos.webhooks.create({ url: box.url, events: ['job.succeeded', 'job.dead'] })
    const message = nextMessage()
    chronos.work([job], { signals: false })
    const { id } = await chronos.enqueue(job, null)
    expect(JSON.parse((await message).body)).toMatchObject({
      type: 'job.succeeded',
      data: { jobId: id, attempt: 2, result: 2 },
    })
    expect((await chronos.webhooks.deliveries(webhookId)).data).toHaveLength(1)
  })

  it('hold the limit of an endpoint over two processes, also for deliveries without a lane', async () => {
    const job = defineJob({ name: 'a', run: async (_: null) => 'done' })
    const url = await postgresUrl()
    const schema = freshSchema()
    const processes = [1, 2].map(() =>
      createChronos({ store: postgres(`${url}?schema=${schema}`), log: false, egress: { allow: ['loopback'] } }),
    )
    const one = processes[0]!
    const { id } = await one.webhooks.create({ url: box.url, events: ['job.succeeded'], concurrency: 2 })
    // As a process of an earlier version enqueues them.
    await one.queues.set(DELIVERIES, { limit: null, partitions: null })
    for (let count = 0; count < 20; count++) await one.webhooks.test(id)
    const unsorted = `SELECT 1 FROM ${schema}.jobs WHERE queue = '${DELIVERIES}' AND lane IS NULL`
    expect((await pool.query(unsorted)).rowCount).toBe(20)
    let most = 0
    box.answer = () => 200
    const held = `SELECT count(*)::int AS count FROM ${schema}.jobs WHERE queue = '${DELIVERIES}' AND state = 'running'`
    for (const chronos of processes) chronos.work([job], { signals: false })
    while (box.heard.length < 20) {
      const { rows } = await pool.query<{ count: number }>(held)
      most = Math.max(most, rows[0]!.count)
    }
    expect(most).toBeLessThanOrEqual(2)
    const { rows } = await pool.query(`SELECT DISTINCT lane FROM ${schema}.jobs WHERE queue = '${DELIVERIES}'`)
    expect(rows).toEqual([{ lane: endpointKey(id) }])
    await Promise.all(processes.map(each => each.close()))
  })
})
