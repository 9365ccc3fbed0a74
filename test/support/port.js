import { once } from 'node:events'
import { createServer } from 'node:net'

// JavaScript, because bench/server.js loads postgres-server.ts without a build, and this file with it.

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  server.close()
  await once(server, 'close')
  return port
}
