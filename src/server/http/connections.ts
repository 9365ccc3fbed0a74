import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait for the response to an earlier one on the same connection. */
const WAITING_MAX = 20
/** Responses of the whole server that clients have not read yet. */
const UNREAD_MAX_BYTES = 64 * 1024 * 1024
/** A response below this size needs no look at the other connections. */
const SMALL_BYTES = 64 * 1024

/**
 * Keeps clients that do not read from filling the memory with responses. One request per connection is answered at a
 * time, and the connections with most unread data are closed when the unread responses of all clients together are too large.
 */
export function limitConnections(server: Server): void {
  const listeners = server.listeners('request') as RequestListener[]
  const sockets = new Set<Socket>()
  const waiting = new WeakMap<Socket, (() => void)[]>()

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    response.once('prefinish', () => {
      if (socket.writableLength > SMALL_BYTES) closeUnread(sockets)
    })
    response.once('close', () => {
      // The responses of a closed connection reach no client.
      const next = socket.destroyed ? undefined : waiting.get(socket)?.shift()
      if (next) next()
      else waiting.delete(socket)
    })
    for (const listener of listeners) listener(request, response)
  }

  server.removeAllListeners('request')
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('request', (request, response) => {
    const queue = waiting.get(request.socket)
    if (!queue) {
      waiting.set(request.socket, [])
      // A client that sends too many requests at once is disconnected before the first of them costs anything.
      process.nextTick(() => !request.socket.destroyed && answer(request, response))
    } else if (queue.length < WAITING_MAX) queue.push(() => answer(request, response))
    else request.socket.destroy()
  })
}

function closeUnread(sockets: ReadonlySet<Socket>): void {
  let unreadBytes = 0
  for (const socket of sockets) unreadBytes += socket.writableLength
  if (unreadBytes <= UNREAD_MAX_BYTES) return
  for (const socket of [...sockets].sort((a, b) => b.writableLength - a.writableLength)) {
    if (unreadBytes <= UNREAD_MAX_BYTES) return
    unreadBytes -= socket.writableLength
    socket.destroy()
  }
}
