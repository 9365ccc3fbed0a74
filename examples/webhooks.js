// Sends a signed webhook when a job dies, and retries it until it is delivered.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { createChronos, defineJob, verifyWebhook } from 'chronos-jobs'

let secret = ''
let tries = 0
const receiver = createServer(async (request, response) => {
  const message = verifyWebhook({ body: await text(request), headers: request.headers, secret })
  console.log(`try ${++tries}: ${message.type} of ${message.data['name']} (${message.data['reason']})`)
  response.writeHead(tries === 1 ? 503 : 204).end()
  if (tries === 2) receiver.emit('delivered')
})
await once(receiver.listen(0, '127.0.0.1'), 'listening')
const { port } = /** @type {import('node:net').AddressInfo} */ (receiver.address())

const charge = defineJob({
  name: 'charge-card',
  retry: 'none',
  async run() {
    throw new Error('card declined')
  },
})

const chronos = createChronos({ store: 'memory:', log: false, egress: { allow: ['loopback'] } })
const webhook = await chronos.webhooks.create({
  url: `http://127.0.0.1:${port}/hooks`,
  events: ['job.dead'],
  retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '50ms' }, jitter: 'none' },
})
secret = webhook.secret

chronos.work([charge])
await chronos.enqueue(charge, null)
await once(receiver, 'delivered')
await chronos.close()
receiver.closeAllConnections()
receiver.close()

// Output:
// try 1: job.dead of charge-card (exhausted)
// try 2: job.dead of charge-card (exhausted)
