import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../src/core/values/clock.js'
import { systemClock, systemDice } from '../../src/engine/time/system.js'
import { type Chronos, type CreateOptions, createChronos } from '../../src/index.js'
import { ChronosServer } from '../../src/server/server.js'
import type { ServerOptions } from '../../src/server.js'
import { sqliteStore } from '../../src/store/sqlite/store.js'
import type { Store } from '../../src/store/store.js'
import { PREPARED } from '../support/prepared.js'
import { checkResponse } from './schema.js'

export interface Reply<T> {
  readonly status: number
  readonly body: T
  readonly headers: Headers
}

/** A real server on a free port with a real store. Every response of its API must match the OpenAPI document. */
export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly chronos: Chronos
  readonly server: ChronosServer
  /** Calls `/api/v1`. */
  api<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Reply<T>>
}

export interface StartOptions extends ServerOptions {
  /** The server requires tokens, and calls without one are those of an admin. */
  readonly asAdmin?: boolean
  /** The clock of the server only. */
  readonly clock?: Clock
  readonly chronos?: Partial<CreateOptions>
  readonly host?: string
}

/** The base URLs of the APIs of the servers that run. */
const apis = new Set<string>()
const plainFetch = globalThis.fetch

globalThis.fetch = async (input, init) => {
  const response = await plainFetch(input, init)
  const url = input instanceof Request ? input.url : String(input)
  const api = [...apis].find(base => url.startsWith(base))
  if (api !== undefined) await checkResponse(methodOf(input, init), pathOf(url, api), response)
  return response
}

const methodOf = (input: unknown, init?: RequestInit): string =>
  (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase()
const pathOf = (url: string, api: string): string => url.slice(api.length).replace(/[?#].*$/, '')

/** The server whose `fetch` checks its responses too. */
function checking(server: ChronosServer, api: string): ChronosServer {
  const fetch: ChronosServer['fetch'] = async (request, env) => {
    const response = await server.fetch(request, env)
    if (request.url.startsWith(api)) await checkResponse(request.method, pathOf(request.url, api), response)
    return response
  }
  return new Proxy(server, {
    get(target, name) {
      const value: unknown = name === 'fetch' ? fetch : Reflect.get(target, name, target)
      return typeof value === 'function' && name !== 'fetch' ? value.bind(target) : value
    },
  })
}

/** The system's clock, which a test can set forward. */
export class MovableClock implements Clock {
  #aheadMs = 0
  readonly soon = systemClock.soon
  readonly timer = systemClock.timer

  now(): number {
    return systemClock.now() + this.#aheadMs
  }

  advance(ms: number): void {
    this.#aheadMs += ms
  }
}

export const ADMIN_TOKEN = 'the-token-of-the-admin'

export async function startServer({
  chronos: given,
  host,
  asAdmin,
  clock = systemClock,
  ...rest
}: StartOptions = {}): Promise<TestServer> {
  const options = asAdmin ? { ...rest, token: ADMIN_TOKEN } : rest
  const admin = asAdmin ? { Authorization: `Bearer ${ADMIN_TOKEN}` } : {}
  const folder = await mkdtemp(join(tmpdir(), 'chronos-server-'))
  const chronos = createChronos({ store: storeIn(folder), log: false, ...given })
  const server = new ChronosServer(chronos, { log: false, dashboard: false, ...options }, clock, systemDice)
  const { url } = await server.listen({ port: 0, ...(host !== undefined && { host }) })
  const api = new URL('api/v1', url).href
  apis.add(api)
  return {
    url,
    chronos,
    server: checking(server, api),
    api: <T>(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) =>
      call<T>(url, method, path, body, { ...admin, ...headers }),
    async [Symbol.asyncDispose]() {
      // Another server may get its port.
      apis.delete(api)
      await server.close()
      await chronos.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const storeIn = (folder: string): Store =>
  sqliteStore({ path: join(folder, 'chronos.db'), clock: systemClock, dice: systemDice, driver: PREPARED })

async function call<T>(
  url: string,
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply<T>> {
  const response = await fetch(new URL(`api/v1${path}`, url), {
    method,
    headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const answer = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, body: answer as T, headers: response.headers }
}
