import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net'

/** A real HTTP server on this machine that records its requests. */
export interface Receiver {
  readonly origin: string
  readonly port: number
  /** All connections that were ever made. */
  readonly connections: number
  /** Resolves once no client is connected any more. */
  deserted(): Promise<void>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface Heard {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: string
}

export async function startReceiver(listener: RequestListener, host?: string, port?: number): Promise<Receiver> {
  return listen(createServer({ keepAliveTimeout: 60_000 }, listener), host, port)
}

/** Sends responses that no HTTP server would send. */
export async function startSocketReceiver(onSocket: (socket: Socket) => void): Promise<Receiver> {
  return listen(
    createSocketServer(socket => {
      socket.on('error', () => {})
      onSocket(socket)
    }),
  )
}

/** The whole request, once it has arrived. */
export async function hear(request: IncomingMessage): Promise<Heard> {
  const { method = '', url = '', headers, rawHeaders } = request
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  return { method, path: url, headers, rawHeaders, body }
}

async function listen(server: Server, host = '127.0.0.1', wanted = 0): Promise<Receiver> {
  const sockets = new Set<Socket>()
  let connections = 0
  let onDeserted: (() => void)[] = []
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) for (const resolve of onDeserted.splice(0)) resolve()
    })
  })
  server.listen(wanted, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return {
    origin: `http://${host}:${port}`,
    port,
    get connections() {
      return connections
    },
    deserted: () =>
      sockets.size === 0
        ? Promise.resolve()
        : new Promise(resolve => {
            onDeserted = [...onDeserted, resolve]
          }),
    close,
    [Symbol.asyncDispose]: close,
  }
}
