import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import { internal } from '../internal.js'
import { payload } from '../payload.js'
import { pause, percentile, sample } from '../sample.js'

/**
 * The limit: no engine, no handlers, only the two statements that a durable queue with a record of every run can't do without,
 * prepared, on a database that Chronos filled. Two connections claim and settle in turn. It knows that there is one
 * queue with one priority, that every run succeeds, and that no answer gets lost.
 */
export { fill } from './chronos.js'

/** @typedef {typeof import('../../src/store/postgres/rows.js')} RowsModule */
const { FACT_COLUMNS } = /** @type {RowsModule} */ (await internal('store/postgres/rows.ts'))

const LEASE_MS = 30_000

const CLAIM = `
  UPDATE chronos.jobs SET state = 'running', run = run + 1, attempt = attempt + 1, token = $1, worker_id = $2,
    lease_until = $3::bigint + ${LEASE_MS}, lease_ms = ${LEASE_MS}, started_at = $3::bigint,
    first_started_at = coalesce(first_started_at, $3::bigint), policy_id = $4
  WHERE id = ANY (ARRAY(
    SELECT id FROM chronos.jobs
    WHERE state = 'waiting' AND lane IS NULL AND queue = 'default' AND priority = 5 AND run_at <= $3::bigint
    ORDER BY run_at, pk LIMIT $5 FOR UPDATE SKIP LOCKED
  ))
  RETURNING ${FACT_COLUMNS.replaceAll('@', 'chronos.')}`

const SETTLE = `
  UPDATE chronos.jobs SET state = 'succeeded', finished_at = $3::bigint, token = NULL, ran_at = started_at, ran_token = $2
  WHERE id = ANY ($1::uuid[]) AND token = $2`

/** @param {{ url: string, serverPid?: number, jobs: number, k: number, connections: number }} options */
export async function drain({ url, serverPid, jobs, k, connections }) {
  const policyId = randomBytes(16).toString('hex')
  const clients = await Promise.all(Array.from({ length: connections }, () => connect(url)))
  let done = 0
  /** @param {pg.Client} client */
  async function loop(client) {
    const workerId = randomUUID()
    for (;;) {
      const token = randomBytes(16).toString('hex')
      const claimed = await client.query({
        name: 'claim',
        text: CLAIM,
        values: [token, workerId, Date.now(), policyId, k],
        rowMode: 'array',
      })
      if (claimed.rows.length === 0) return
      const ids = `{${claimed.rows.map(([id]) => id).join(',')}}`
      const settled = await client.query({ name: 'settle', text: SETTLE, values: [ids, token, Date.now()] })
      done += settled.rowCount ?? 0
    }
  }
  const result = await sample(
    jobs,
    async () => {
      await Promise.all(clients.map(loop))
    },
    serverPid,
  )
  await Promise.all(clients.map(client => client.end()))
  if (done !== jobs) throw new Error(`expected ${jobs} jobs done, got ${done}`)
  return result
}

/** @param {string} url */
async function connect(url) {
  const client = new pg.Client(url)
  await client.connect()
  return client
}

/**
 * One row, one commit, while nothing else happens: what the server adds to every latency.
 *
 * @param {{ url: string, times: number }} options
 */
export async function commit({ url, times }) {
  const client = await connect(url)
  await client.query('CREATE TABLE commits (row text)')
  /** @type {number[]} */
  const measuredMs = []
  for (let i = 0; i < times; i++) {
    await pause(5 + ((i * 7) % 20))
    const startedAt = process.hrtime.bigint()
    const values = [JSON.stringify(payload(i))]
    await client.query({ name: 'commit', text: 'INSERT INTO commits VALUES ($1)', values })
    measuredMs.push(Number(process.hrtime.bigint() - startedAt) / 1e6)
  }
  await client.end()
  return { p50Ms: percentile(measuredMs, 0.5), p99Ms: percentile(measuredMs, 0.99) }
}
