import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Clock } from '../../src/core/values/clock.js'
import { systemClock, systemDice } from '../../src/engine/time/system.js'
import { type Chronos, type CreateOptions, createChronos } from '../../src/index.js'
import { ChronosServer } from '../../src/server/server.js'
import type { ServerOptions } from '../../src/server.js'
import { successSchema } from './schema.js'

export interface Reply<T> {
  readonly status: number
  readonly body: T
  readonly headers: Headers
}

/** A real server on a free port with a real store. */
export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly chronos: Chronos
  readonly server: ChronosServer
  /** Calls `/api/v1`; a successful response must match the endpoint's schema. */
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

const ADMIN_TOKEN = 'the-token-of-the-admin'
/** The token that `asAdmin` sends. */
export const AS_ADMIN = { Authorization: `Bearer ${ADMIN_TOKEN}` } as const

export async function startServer({
  chronos: given,
  host,
  asAdmin,
  clock = systemClock,
  ...rest
}: StartOptions = {}): Promise<TestServer> {
  const options = asAdmin ? { ...rest, token: ADMIN_TOKEN } : rest
  const admin = asAdmin ? AS_ADMIN : {}
  const folder = await mkdtemp(join(tmpdir(), 'chronos-server-'))
  const chronos = createChronos({ store: `sqlite:${join(folder, 'chronos.db')}`, log: false, ...given })
  const server = new ChronosServer(chronos, { log: false, dashboard: false, ...options }, clock, systemDice)
  const { url } = await server.listen({ port: 0, ...(host !== undefined && { host }) })
  return {
    url,
    chronos,
    server,
    api: <T>(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) =>
      call<T>(url, method, path, body, { ...admin, ...headers }),
    async [Symbol.asyncDispose]() {
      await server.close()
      await chronos.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

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
  const schema = response.ok ? successSchema(method, path, response.status) : undefined
  // A response field that the document does not describe is an error.
  if (schema) expect(schema.parse(answer)).toEqual(answer)
  return { status: response.status, body: answer as T, headers: response.headers }
}
