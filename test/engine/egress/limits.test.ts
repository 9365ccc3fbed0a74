import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { classify } from '../../../src/core/failure/classify.js'
import { type Heard, hear, startReceiver, startSocketReceiver } from '../../support/receiver.js'
import { failureOf, sender, textOf } from './sending.js'

const MIB = 1024 * 1024

/** Writes for as long as the other side reads, and counts the bytes until it closes the connection. */
function flood(socket: Socket, chunk: Buffer, maxBytes: number): Promise<number> {
  return new Promise(resolve => {
    socket.on('close', () => resolve(socket.bytesWritten))
    const more = (): void => {
      while (!socket.destroyed && socket.bytesWritten < maxBytes) {
        if (!socket.write(chunk)) {
          socket.once('drain', more)
          return
        }
      }
      socket.end()
    }
    more()
  })
}

const asked = (socket: Socket): Promise<unknown> => once(socket, 'data')

describe('an answer that does not end', () => {
  it('is read up to the limit, and its connection is closed', async () => {
    let flooded: Promise<number> | undefined
    await using receiver = await startSocketReceiver(async socket => {
      await asked(socket)
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n')
      flooded = flood(socket, Buffer.alloc(64 * 1024, 'x'), 200 * MIB)
    })
    await using egress = sender()
    const answer = await egress.send(receiver.origin)
    expect(answer).toMatchObject({ status: 200, truncated: true })
    expect(answer.body).toHaveLength(16_384)
    await receiver.deserted()
    expect(await flooded).toBeLessThan(20 * MIB)
  })

  it('with endless headers fails after reading few of them', async () => {
    let flooded: Promise<number> | undefined
    await using receiver = await startSocketReceiver(async socket => {
      await asked(socket)
      socket.write('HTTP/1.1 200 OK\r\n')
      flooded = flood(socket, Buffer.from(`x-filler: ${'y'.repeat(60_000)}\r\n`), 100 * MIB)
    })
    await using egress = sender()
    const error = await failureOf(egress.send(receiver.origin))
    expect(error).toMatchObject({ name: 'HttpError', code: 'UND_ERR_HEADERS_OVERFLOW' })
    expect(error.message).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+ got no answer: Headers Overflow Error/)
    expect(classify(error, [], 0)).toMatchObject({ kind: 'transient', maybeExecuted: true })
    await receiver.deserted()
    expect(await flooded).toBeLessThan(20 * MIB)
  })

  it('is aborted in time, even if it announces its end repeatedly', async () => {
    await using receiver = await startSocketReceiver(async socket => {
      await asked(socket)
      await flood(socket, Buffer.from('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000)), 2_000 * MIB)
    })
    await using egress = sender()
    const error = await failureOf(egress.send(receiver.origin, { timeoutMs: 300 }))
    expect(error).toMatchObject({ name: 'TimeoutError', code: 'ETIMEDOUT' })
    await receiver.deserted()
  })

  it('is not decompressed if it is compressed a thousandfold', async () => {
    const heard: Heard[] = []
    await using receiver = await startReceiver(async (request, response) => {
      heard.push(await hear(request))
      response.writeHead(200, { 'content-encoding': Array(500).fill('gzip').join(', ') }).end(Buffer.alloc(8_000, 7))
    })
    await using egress = sender()
    const answer = await egress.send(receiver.origin, { headers: { 'accept-encoding': 'identity' } })
    expect(heard[0]!.headers['accept-encoding']).toBe('identity')
    expect([...answer.body]).toEqual([...Buffer.alloc(8_000, 7)])
  })
})

describe('an answer that does not come', () => {
  it.each<[what: string, onSocket: (socket: Socket) => unknown]>([
    ['at all', socket => socket.resume()],
    [
      'whole, letter by letter',
      async socket => {
        await asked(socket)
        socket.write('HTTP/1.1 200 OK\r\nx-slow: a')
      },
    ],
  ])('%s is aborted in time, and the outcome of the request is unknown', async (_, onSocket) => {
    await using receiver = await startSocketReceiver(onSocket)
    await using egress = sender()
    const error = await failureOf(egress.send(receiver.origin, { timeoutMs: 2_000 }))
    expect(error.message).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+ took longer than 2s$/)
    expect(classify(error, [], 0)).toMatchObject({ kind: 'transient', maybeExecuted: true })
    await receiver.deserted()
  })

  it.each<[what: string, onSocket: (socket: Socket) => unknown, code: string | undefined]>([
    [
      'a reset',
      async socket => {
        await asked(socket)
        socket.resetAndDestroy()
      },
      'ECONNRESET',
    ],
    [
      'a hang-up',
      async socket => {
        await asked(socket)
        socket.end()
      },
      'UND_ERR_SOCKET',
    ],
    [
      'nonsense',
      async socket => {
        await asked(socket)
        socket.end('220 mail.example ESMTP\r\n')
      },
      undefined,
    ],
  ])('is a failure after the request left: %s', async (_, onSocket, code) => {
    await using receiver = await startSocketReceiver(onSocket)
    await using egress = sender()
    const error = await failureOf(egress.send(receiver.origin))
    expect(error).toMatchObject({ name: 'HttpError', code })
    expect(classify(error, [], 0)).toMatchObject({ kind: 'transient', maybeExecuted: true })
  })

  it.each<[what: string, url: (port: number) => string, kind: string]>([
    ['the port is closed', () => 'http://127.0.0.1:1/', 'transient'],
    ['it speaks no TLS', port => `https://127.0.0.1:${port}/`, 'permanent'],
  ])('because %s never left', async (_, url, kind) => {
    await using receiver = await startReceiver((_request, response) => response.end())
    await using egress = sender()
    const error = await failureOf(egress.send(url(receiver.port)))
    expect(error.message).toContain('could not be sent')
    expect(classify(error, [], 0)).toMatchObject({ kind, maybeExecuted: false })
  })

  it('because its name is never resolved is never sent, not even later', async () => {
    let answer: ((addresses: string[]) => void) | undefined
    const lookup = (): Promise<string[]> => new Promise(resolve => (answer = resolve))
    await using receiver = await startReceiver((_, response) => response.end())
    await using egress = sender({ allow: ['loopback'], ports: [receiver.port], lookup })
    const error = await failureOf(egress.send(`http://slow.example:${receiver.port}/`, { timeoutMs: 100 }))
    expect(error).toMatchObject({ name: 'TimeoutError' })
    expect(classify(error, [], 0)).toMatchObject({ kind: 'transient', maybeExecuted: false })
    answer!(['127.0.0.1'])
    await using other = sender()
    await other.send(receiver.origin)
    expect(receiver.connections).toBe(1)
  })
})

describe('an answer whose status is there', () => {
  it.each<[what: string, onSocket: (socket: Socket) => void]>([
    ['stalls', () => {}],
    ['is cut', socket => socket.end()],
    ['is reset', socket => void setImmediate(() => socket.resetAndDestroy())],
  ])('counts, though its body %s', async (_, onSocket) => {
    await using receiver = await startSocketReceiver(async socket => {
      await asked(socket)
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nfirst', () => onSocket(socket))
    })
    await using egress = sender()
    const answer = await egress.send(receiver.origin, { timeoutMs: 2_000 })
    expect(answer).toMatchObject({ status: 200, truncated: true })
    await receiver.deserted()
  })
})

describe('a caller that aborts', () => {
  it('gets its own reason', async () => {
    const controller = new AbortController()
    await using receiver = await startSocketReceiver(socket => {
      socket.on('data', () => controller.abort(new Error('changed my mind')))
    })
    await using egress = sender()
    const error = await failureOf(egress.send(receiver.origin, { signal: controller.signal }))
    expect(error.message).toBe('changed my mind')
    await receiver.deserted()
    expect((await failureOf(egress.send(receiver.origin, { signal: controller.signal }))).message).toBe(
      'changed my mind',
    )
    expect(receiver.connections).toBe(1)
  })
})

describe('connections', () => {
  it('are reused, unless the request asks for a fresh one', async () => {
    await using receiver = await startReceiver((_, response) => response.end('ok'))
    await using egress = sender()
    for (let i = 0; i < 5; i++) expect(textOf(await egress.send(receiver.origin))).toBe('ok')
    const { connections } = receiver
    expect(connections).toBeLessThanOrEqual(2)
    for (let i = 0; i < 5; i++) await egress.send(receiver.origin, { freshConnection: true })
    expect(receiver.connections).toBe(connections + 5)
  })

  it('are closed with it', async () => {
    await using receiver = await startReceiver((_, response) => response.end('ok'))
    const egress = sender()
    await egress.send(receiver.origin)
    await egress[Symbol.asyncDispose]()
    await receiver.deserted()
    expect(await failureOf(egress.send(receiver.origin))).toMatchObject({ code: 'CLOSED' })
  })
})
