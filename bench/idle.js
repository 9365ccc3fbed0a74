import pg from 'pg'
import { pause, sample } from './sample.js'

/**
 * Workers start up first, and what they do once an hour is done for the first time after a minute. A connection that rests
 * reports its last transactions to the server's statistics after 10 s.
 */
const SETTLE_MS = 80_000

/**
 * What an idle worker costs: this process, and the transactions of its database that the server counted, where there
 * is one.
 *
 * @param {{ seconds: number, url?: string, database?: string, serverPid?: number }} options
 */
export async function idleFor({ seconds, url, database, serverPid }) {
  await pause(SETTLE_MS)
  const before = await transactions(url, database)
  const result = await sample(1, () => pause(seconds * 1_000), serverPid)
  const after = await transactions(url, database)
  return { ...result, transactionsPerSecond: (after - before) / result.seconds }
}

/**
 * Asked for in another database, so that it doesn't count itself.
 *
 * @param {string | undefined} url
 * @param {string | undefined} database
 */
async function transactions(url, database) {
  if (url === undefined) return 0
  const elsewhere = new URL(url)
  elsewhere.pathname = '/postgres'
  const client = new pg.Client(elsewhere.href)
  await client.connect()
  const { rows } = await client.query(
    'SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = $1',
    [database],
  )
  await client.end()
  return Number(rows[0].count)
}
