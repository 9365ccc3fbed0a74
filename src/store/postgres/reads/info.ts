import type { StoreInfo } from '../../store.js'
import type { Database } from '../connection/pool.js'

const INFO = `
  SELECT @now_ms(), (SELECT coalesce(max(version), 0) FROM @migrations), current_setting('server_version'),
    current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')`

type InfoRow = [now: number, version: number, server: string, fsync: string, fullPages: string, commit: string]

export async function info(db: Database): Promise<StoreInfo> {
  const [row] = await db.readShort<InfoRow>(INFO)
  const [now, schemaVersion, server, ...settings] = row!
  return {
    kind: 'postgres',
    now,
    schemaVersion,
    engine: `PostgreSQL ${server.split(' ')[0]}`,
    // If one of these settings is off, a power loss can lose acknowledged writes.
    durability: settings.includes('off') ? 'process-crash' : 'power-loss',
    location: `${db.location} (schema ${db.schema})`,
  }
}
