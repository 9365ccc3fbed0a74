import { once } from 'node:events'
import { createServer } from 'node:http'
import { pause, percentile } from '../sample.js'

/** @typedef {typeof import('../../src/index.js')} Package */
const built = new URL('../../dist/index.js', import.meta.url).href
const { createChronos, defineJob } = /** @type {Package} */ (await import(built))

const note = defineJob({ name: 'note', queue: 'quick', async run() {} })
const report = defineJob({ name: 'report', queue: 'slow', async run() {} })
const WARM_UPS = 20

/**
 * @param {import('node:http').RequestListener} answer
 * @returns {Promise<{ port: number, url: string, close: () => void }>}
 */
async function receiver(answer) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('expected a port')
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { port: address.port, url: `http://127.0.0.1:${address.port}/`, close }
}

/**
 * From the enqueue of a job to the arrival of its webhook, one at a time; beside an endpoint that never answers, for which
 * so many deliveries wait.
 *
 * @param {{ file?: string, url?: string, times: number, stuck: number }} options
 */
export async function deliver({ file, url = `sqlite:${file}`, times, stuck }) {
  /** @type {(value?: unknown) => void} */
  let arrived = () => {}
  const quick = await receiver((request, response) => {
    request.resume()
    response.end()
    arrived()
  })
  const deaf = await receiver(request => void request.resume())
  const egress = { allow: ['loopback'], ports: [quick.port, deaf.port] }
  const chronos = createChronos({ store: url, log: false, egress })
  await chronos.webhooks.create({ url: quick.url, events: ['job.succeeded'], queues: ['quick'] })
  await chronos.webhooks.create({ url: deaf.url, events: ['job.succeeded'], queues: ['slow'] })
  const worker = chronos.work([note, report])
  if (stuck > 0)
    await chronos.enqueueMany(
      report,
      Array.from({ length: stuck }, () => undefined),
    )
  /** @type {number[]} */
  const measuredMs = []
  for (let n = -WARM_UPS; n < times; n++) {
    await pause(5 + ((Math.abs(n) * 7) % 20))
    const arrival = new Promise(resolve => {
      arrived = resolve
    })
    const from = process.hrtime.bigint()
    await chronos.enqueue(note, undefined)
    await arrival
    if (n >= 0) measuredMs.push(Number(process.hrtime.bigint() - from) / 1e6)
  }
  deaf.close()
  await worker.stop()
  await chronos.close()
  quick.close()
  return { p50Ms: percentile(measuredMs, 0.5), p95Ms: percentile(measuredMs, 0.95) }
}
