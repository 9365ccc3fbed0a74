// A server that a scenario floods. It reports how much memory it uses.
import { createChronos } from '../../../dist/index.js'
import { createServer } from '../../../dist/server.js'
import './orphan.js'

const [store = '', port = '', token = ''] = process.argv.slice(2)
if (!store || !port) throw new Error('usage: limit-server.js STORE PORT [TOKEN]')

const chronos = createChronos({ store, log: false })
const options = { log: /** @type {const} */ (false), dashboard: /** @type {const} */ (false), maxListeners: 10_000 }
const server = createServer(chronos, { ...options, ...(token && { token }) })
await server.listen({ port: Number(port) })
process.on('message', text => {
  if (text === 'memory') process.send?.(`memory ${process.memoryUsage().rss}`)
  if (text === 'enqueue') void chronos.enqueue('announced', null)
})
process.send?.('ready')
