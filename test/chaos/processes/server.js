// A server process for pull workers.
import { createChronos } from '../../../dist/index.js'
import { createServer } from '../../../dist/server.js'
import './orphan.js'

const [store = '', port = ''] = process.argv.slice(2)
if (!store || !port) throw new Error('usage: server.js STORE PORT')

const chronos = createChronos({ store, log: false, egress: { allow: ['127.0.0.1:*'] } })
const server = createServer(chronos, { log: false, dashboard: false })
await server.listen({ port: Number(port) })
process.once('SIGTERM', async () => {
  await server.close()
  await chronos.close()
  process.exit(0)
})
process.send?.('ready')
