import { join } from 'node:path'
import { PostgresServer } from '../support/postgres-server.js'
import { temporaryFolder } from '../support/process.js'
import type { Place } from './fleet.js'

/** The folder and the ledger of a run. The folder is deleted at the end. */
export async function inFolder(work: (place: Omit<Place, 'store'>) => Promise<void>): Promise<void> {
  using folder = temporaryFolder()
  await work({ folder: folder.path, ledger: join(folder.path, 'ledger') })
}

/** A new SQLite file. */
export function onSqlite(work: (place: Place) => Promise<void>): Promise<void> {
  return inFolder(place => work({ ...place, store: `sqlite:${join(place.folder, 'jobs.db')}` }))
}

/** A new PostgreSQL server. */
export function onPostgres(work: (place: Place, server: PostgresServer) => Promise<void>): Promise<void> {
  return inFolder(async place => {
    const server = await PostgresServer.start()
    try {
      await work({ ...place, store: server.url }, server)
    } finally {
      await server.stop()
    }
  })
}
