import { connect, type Socket } from 'node:net'
import { createChronos } from '../../../src/index.js'
import { pause } from '../pause.js'
import { onSqlite } from '../places.js'
import type { Scenario } from '../scenario.js'
import { boundsText, FloodedServer } from './flooded-server.js'

const BOUNDS = { memoryMb: 400, answerMs: 2_000 }
const BYTE_EVERY_MS = 1_000
/** Longer than the server waits for headers (10 s), with one check every 5 s or so. */
const HEADERS_MS = 25_000

/** Each begins a request and never ends it. */
const BEGINNINGS: Readonly<Record<string, string>> = {
  'slow headers': 'GET /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ',
  'slow bodies':
    'POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n{',
  // It asks for many pages and reads none of them.
  'slow readers': 'GET /api/v1/jobs?limit=200 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(50),
}

function open(port: number, beginning: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(beginning)
  return socket
}

export const slowClients: Scenario = {
  name: 'slow clients',
  about: 'Clients send a byte a second of their headers or body, or never read what they asked for.',
  bounds: boundsText(BOUNDS),
  slice: { clients: 30, seconds: 2 },
  full: { clients: 1_500, seconds: 40 },
  coverage: ({ clients = 0, seconds = 0 }) => ({
    'slow clients': clients,
    requests: seconds,
    ...(seconds * 1000 > HEADERS_MS && { 'connections closed by the server': Math.floor(clients / 3) }),
  }),
  run: ({ clients = 0, seconds = 0 }, verdict) =>
    onSqlite(async ({ store }) => {
      await using chronos = createChronos({ store, log: false })
      await chronos.enqueueMany(
        'large',
        Array.from({ length: 200 }, () => 'x'.repeat(10_000)),
      )
      const server = await FloodedServer.start(store)
      const sockets: Socket[] = []
      let closed = 0
      try {
        for (const beginning of Object.values(BEGINNINGS)) {
          for (let count = 0; count < clients / 3; count++) {
            const socket = open(server.port, beginning)
            socket.once('close', () => closed++)
            sockets.push(socket)
          }
        }
        verdict.count('slow clients', sockets.length)
        const until = performance.now() + seconds * 1000
        // On a busy machine it takes longer until there were as many requests.
        for (let requests = 0; requests < seconds || performance.now() < until; requests++) {
          await server.get('/api/v1/jobs?limit=1')
          verdict.count('requests')
          await pause(BYTE_EVERY_MS / 2)
          for (const socket of sockets) if (socket.writable) socket.write('x')
        }
        verdict.count('connections closed by the server', closed)
        await server.judge(verdict, BOUNDS)
      } finally {
        for (const socket of sockets) socket.destroy()
        await server.stop()
      }
    }),
}
