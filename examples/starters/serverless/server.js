// Stands in for the platform: it calls the function for each request, as a cron trigger would.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { chronos, enqueueOrder, tickNow } from './functions.js'

const server = createServer(async (incoming, outgoing) => {
  const chunks = await incoming.toArray()
  const request = new Request(`http://localhost${incoming.url}`, {
    method: incoming.method,
    headers: /** @type {Record<string, string>} */ (incoming.headers),
    ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
  })
  const response = await (incoming.url === '/orders' ? enqueueOrder(request) : tickNow(request))
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text())
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
await once(server, 'listening')
console.log(`listening on http://127.0.0.1:${server.address().port}`)

process.once('SIGTERM', async () => {
  server.close()
  await chronos.close()
  server.closeAllConnections()
})
