import { resolve } from 'node:path'
import { ChronosError } from '../../core/values/error.js'
import { systemClock, systemDice } from '../../engine/time/system.js'
import type { StoreAddress } from './store-address.js'

/** The schema version of a store, read without changing it. Version 0: no tables yet. */
export interface Schema {
  readonly location: string
  readonly version: number
  /** The version that this code needs. */
  readonly known: number
}

export async function schemaOf(address: StoreAddress): Promise<Schema> {
  return address.kind === 'sqlite' ? ofFile(address.path) : ofServer(address.url)
}

async function ofFile(path: string): Promise<Schema> {
  const [{ versionOf }, { SCHEMA_VERSION }] = await Promise.all([
    import('../../store/sqlite/file/health.js'),
    import('../../store/sqlite/migrations.js'),
  ])
  return {
    location: resolve(path),
    version: await versionOf(path, { clock: systemClock, dice: systemDice }),
    known: SCHEMA_VERSION,
  }
}

async function ofServer(url: string): Promise<Schema> {
  const [{ postgres }, { SCHEMA_VERSION }] = await Promise.all([
    import('../../postgres.js'),
    import('../../store/postgres/migrations.js'),
  ])
  const store = postgres(url)
  try {
    const { location, schemaVersion } = await store.info()
    return { location, version: schemaVersion, known: SCHEMA_VERSION }
  } catch (error) {
    // A server without Chronos tables.
    if (!(error instanceof ChronosError) || error.code !== 'STORE_NOT_A_DATABASE') throw error
    return { location: locationIn(error), version: 0, known: SCHEMA_VERSION }
  } finally {
    await store.close()
  }
}

function locationIn({ details }: ChronosError): string {
  return typeof details['location'] === 'string' ? details['location'] : 'the PostgreSQL database'
}
