import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'

/** Answers requests of a Node server, as Express, Fastify and Nest pass them on. */
export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** What frameworks add to a request. */
interface Passed extends IncomingMessage {
  originalUrl?: string
  body?: unknown
  rawBody?: unknown
}

export function listenerOf(fetch: (request: Request, env?: unknown) => Promise<Response>): Listener {
  const listen = getRequestListener((request, env) => fetch(request, env), { overrideGlobalObjects: false })
  return (request: Passed, response) => {
    // A router takes the path off at which it mounts a handler.
    if (request.originalUrl !== undefined) request.url = request.originalUrl
    // A body parser in front has read the body, which can be read only once.
    if (request.body !== undefined && request.rawBody === undefined && request.readableEnded) {
      request.rawBody = Buffer.from(typeof request.body === 'string' ? request.body : JSON.stringify(request.body))
    }
    void listen(request, response)
  }
}
