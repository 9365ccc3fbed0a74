import { randomBytes, randomUUID } from 'node:crypto'
import { internal } from '../internal.js'
import { payload } from '../payload.js'
import { pause, percentile, sample } from '../sample.js'

/**
 * The limit: no engine, no handlers, only the statements that a durable queue with a record of every run can't do without, on
 * a file that Chronos filled, through the driver, the settings and the prepared statements of its store. It knows
 * that there is one queue with one priority, and that every run succeeds.
 */
export { fill } from './chronos.js'

/**
 * @typedef {typeof import('../../src/store/sqlite/file/driver.js')} DriverModule
 * @typedef {typeof import('../../src/store/sqlite/file/connection.js')} ConnectionModule
 * @typedef {typeof import('../../src/store/sqlite/rows.js')} RowsModule
 */
const { loadDriver } = /** @type {DriverModule} */ (await internal('store/sqlite/file/driver.ts'))
const { Connection } = /** @type {ConnectionModule} */ (await internal('store/sqlite/file/connection.ts'))
const { FACT_COLUMNS } = /** @type {RowsModule} */ (await internal('store/sqlite/rows.ts'))

const LEASE_MS = 30_000

const CLAIM = `
  UPDATE jobs SET state = 'running', run = run + 1, attempt = attempt + 1, token = ?, worker_id = ?, lease_until = ?,
    lease_ms = ${LEASE_MS}, started_at = ?, first_started_at = ifnull(first_started_at, ?), policy_id = ?
  WHERE pk IN (
    SELECT pk FROM jobs WHERE state = 'waiting' AND lane IS NULL AND queue = 'default' AND priority = 5 AND run_at <= ? ORDER BY run_at LIMIT ?
  )
  RETURNING ${FACT_COLUMNS}`

const SETTLE = `
  UPDATE jobs SET state = 'succeeded', finished_at = ?, ran_at = started_at, ran_token = token, token = NULL,
    lease_until = NULL, lease_ms = NULL
  WHERE pk IN (SELECT value FROM json_each(?)) AND token = ?`

/** @param {{ file: string, jobs: number, k: number }} options */
export async function drain({ file, jobs, k }) {
  const db = new Connection(await loadDriver(), file)
  db.configure()
  const workerId = randomUUID()
  const policyId = randomBytes(16).toString('hex')
  let done = 0
  const result = await sample(jobs, async () => {
    for (;;) {
      const token = randomBytes(16).toString('hex')
      const now = Date.now()
      /** @type {[pk: number][]} */
      const claimed = db.all(CLAIM, token, workerId, now + LEASE_MS, now, now, policyId, now, k)
      if (claimed.length === 0) return
      const keys = JSON.stringify(claimed.map(([pk]) => pk))
      db.run('BEGIN IMMEDIATE')
      done += db.run(SETTLE, Date.now(), keys, token)
      db.run('COMMIT')
    }
  })
  db.close()
  if (done !== jobs) throw new Error(`expected ${jobs} jobs done, got ${done}`)
  return result
}

/**
 * One row, one commit, while nothing else happens: what the disk adds to every latency.
 *
 * @param {{ file: string, times: number }} options
 */
export async function commit({ file, times }) {
  const db = new Connection(await loadDriver(), file)
  db.configure()
  db.exec('CREATE TABLE commits (row TEXT)')
  /** @type {number[]} */
  const measuredMs = []
  for (let i = 0; i < times; i++) {
    await pause(5 + ((i * 7) % 20))
    const startedAt = process.hrtime.bigint()
    db.run('INSERT INTO commits VALUES (?)', JSON.stringify(payload(i)))
    measuredMs.push(Number(process.hrtime.bigint() - startedAt) / 1e6)
  }
  db.close()
  return { p50Ms: percentile(measuredMs, 0.5), p99Ms: percentile(measuredMs, 0.99) }
}
