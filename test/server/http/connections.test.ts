import { once } from 'node:events'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { createChronos } from '../../../src/index.js'
import { limitConnections } from '../../../src/server/http/connections.js'
import { createServer } from '../../../src/server.js'

async function listening() {
  const chronos = createChronos({ store: 'memory:', log: false })
  const server = createServer(chronos, { log: false, dashboard: false })
  const { port } = await server.listen({ port: 0 })
  const stop = async (): Promise<void> => {
    await server.close()
    await chronos.close()
  }
  return { chronos, port, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: stop }
}

function ask(port: number, requests: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(requests)
  return socket
}

const CLOSE = 'Connection: close\r\n'
const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`

/** How much arrives until the server closes the connection. */
async function lengthOf(socket: Socket): Promise<number> {
  const closed = new Promise(resolve => socket.once('close', resolve))
  let bytes = 0
  socket.on('data', data => {
    bytes += data.length
  })
  socket.resume()
  await closed
  return bytes
}

test('requests that are sent without waiting for a response are answered one after another', async () => {
  await using server = await listening()
  const paths = ['/healthz', '/api/v1/jobs', '/nowhere', '/healthz']
  const socket = ask(server.port, paths.map((path, at) => get(path, at === 3 ? CLOSE : '')).join(''))
  const answers = await text(socket)
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200'])
})

test('a connection is kept for longer than load balancers keep it', async () => {
  await using server = await listening()
  const { headers } = await fetch(`${server.url}/healthz`)
  expect(headers.get('keep-alive')).toBe('timeout=65')
})

test('a client that sends many requests and waits for no response is disconnected', async () => {
  await using server = await listening()
  const socket = ask(server.port, get('/api/v1/jobs').repeat(50))
  socket.resume()
  await once(socket, 'close')
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
})

test('a request whose client has gone is not handled when its turn comes', async () => {
  const handled: ServerResponse[] = []
  const http = createHttpServer((_, response) => void handled.push(response))
  limitConnections(http)
  await once(http.listen(0, '127.0.0.1'), 'listening')
  const socket = ask((http.address() as AddressInfo).port, get('/first') + get('/second'))
  await once(http, 'request')
  socket.destroy()
  await once(handled[0]!, 'close')
  expect(handled).toHaveLength(1)
  http.close()
})

test('clients that do not read their responses are disconnected before these fill the memory', async () => {
  await using server = await listening()
  await server.chronos.enqueueMany(
    'large',
    Array.from({ length: 200 }, () => 'x'.repeat(100_000)),
  )
  // Each page has 20 MB, of which the operating system keeps a few.
  const clients = Array.from({ length: 12 }, () => ask(server.port, get('/api/v1/jobs?limit=200', CLOSE)))
  for (const client of clients) client.pause()
  // The requests before it were answered before this one.
  expect((await fetch(`${server.url}/api/v1/jobs?limit=1`)).status).toBe(200)
  const lengths = await Promise.all(clients.map(lengthOf))
  expect(lengths.some(bytes => bytes < 20_000_000)).toBe(true)
  expect(lengths.some(bytes => bytes > 20_000_000)).toBe(true)
})
