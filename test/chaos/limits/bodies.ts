import { connect } from 'node:net'
import { onSqlite } from '../places.js'
import type { Scenario } from '../scenario.js'
import type { Verdict } from '../verdict.js'
import { boundsText, FloodedServer } from './flooded-server.js'

const BOUNDS = { memoryMb: 400, answerMs: 3_000 }
const TOKEN = 'a-token-that-only-this-test-knows'
const CHUNK = Buffer.alloc(64 * 1024, 'x')
const BODY_BYTES = 64 * 1024 ** 2

/** Sends a body that is far too large until the server answers or closes the connection. */
function flood(port: number, path: string, token: string | undefined): Promise<string> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    const login = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
    socket.on('error', () => undefined)
    socket.on('data', data => {
      answer += String(data)
      socket.end()
    })
    socket.on('close', () => resolve(/HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 'closed'))
    const type = 'Content-Type: application/json\r\nTransfer-Encoding: chunked'
    socket.write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${login}${type}\r\n\r\n`)
    let sent = 0
    const more = (): void => {
      while (sent < BODY_BYTES && socket.writable) {
        sent += CHUNK.length
        socket.write(`${CHUNK.length.toString(16)}\r\n`)
        socket.write(CHUNK)
        if (!socket.write('\r\n')) break
      }
      if (sent >= BODY_BYTES) socket.end('0\r\n\r\n')
    }
    socket.on('drain', more)
    more()
  })
}

async function floodAll(server: FloodedServer, clients: number, verdict: Verdict): Promise<void> {
  let isOver = false
  const healthy = (async () => {
    while (!isOver) await server.get('/api/v1/jobs?limit=1')
  })()
  const floods = Array.from({ length: clients }, (_, index) =>
    index % 2 === 0 ? flood(server.port, '/api/v1/session', undefined) : flood(server.port, '/api/v1/jobs', TOKEN),
  )
  for (const status of await Promise.all(floods)) {
    verdict.count(`bodies answered ${status}`)
    const isRefused = status === 'closed' || /^4\d\d$|^503$/.test(status)
    verdict.expect(isRefused, 'requests are answered within their bounds', () => `a body of 64 MB: ${status}`)
  }
  isOver = true
  await healthy
}

export const largeBodies: Scenario = {
  name: 'large bodies',
  about: 'Clients with and without a token send bodies of 64 MB at the same time.',
  bounds: boundsText(BOUNDS, 'each body refused'),
  slice: { clients: 20 },
  full: { clients: 600 },
  coverage: ({ clients = 0 }) => ({ bodies: clients }),
  run: ({ clients = 0 }, verdict) =>
    onSqlite(async ({ store }) => {
      const server = await FloodedServer.start(store, { token: TOKEN })
      try {
        await floodAll(server, clients, verdict)
        verdict.count('bodies', clients)
        await server.judge(verdict, BOUNDS)
      } finally {
        await server.stop()
      }
    }),
}
