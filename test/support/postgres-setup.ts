import { once } from 'node:events'
import { createServer } from 'node:net'
import type { TestProject } from 'vitest/node'
import { PostgresServer } from './postgres-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The port on 127.0.0.1 that returns the address of the test server. */
    postgresPort: number
  }
}

/**
 * The `globalSetup` of vitest. The server starts when the first test asks for it, once for all test processes, and ends
 * with the run; a run that needs none starts none.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined
  const door = createServer(socket => {
    server ??= PostgresServer.start()
    server.then(
      ({ url }) => socket.end(url),
      error => socket.end(`PostgreSQL did not start: ${String(error)}`),
    )
    socket.on('error', () => undefined)
  })
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  project.provide('postgresPort', (door.address() as { port: number }).port)
  return async () => {
    door.close()
    await (await server?.catch(() => undefined))?.stop()
  }
}
