// The thread behind `guard.ts`. It is plain JavaScript, so that it loads both from the sources and from the package.
import { parentPort, workerData } from 'node:worker_threads'

/** @type {import('./guard.js').GuardData} */
const { settings, sql, workerId, leaseMs, stuckAfterMs, beat } = workerData
const beats = new BigInt64Array(beat)

let seen = Atomics.load(beats, 0)
let seenAt = performance.now()
let extendedAt = Number.NEGATIVE_INFINITY
/** @type {import('./driver.js').PgClient | undefined} */
let client

async function connect() {
  /** @type {{ default: import('./driver.js').PgModule }} */
  const { default: pg } = await import('pg')
  const limits = { connectionTimeoutMillis: leaseMs / 3, query_timeout: leaseMs / 3, pipeline: false }
  const opened = new pg.Client({ ...settings, ...limits, fallback_application_name: 'chronos' })
  opened.on('error', drop)
  await opened.connect()
  return opened
}

function drop() {
  client?.connection?.stream.destroy()
  client = undefined
}

async function look() {
  // The thread reads a clock directly, because the thread that has the process's clock may be blocked. It measures
  // only the time since the last heartbeat.
  const now = performance.now()
  const latest = Atomics.load(beats, 0)
  if (latest !== seen) {
    seen = latest
    seenAt = now
  }
  const silentMs = now - seenAt
  const isSilent = silentMs > leaseMs / 2 && silentMs < stuckAfterMs
  if (seen === 0n || !isSilent || now - extendedAt < leaseMs / 3) return
  extendedAt = now
  client ??= await connect()
  const sentMs = performance.now() - seenAt
  await client.query({ text: sql, values: [workerId, Math.ceil(leaseMs)] })
  Atomics.store(beats, 1, BigInt(Math.floor(Number(seen) + sentMs + leaseMs)))
}

const timer = setInterval(() => {
  // The server may be unavailable: the next check tries again with another connection.
  look().catch(() => {
    extendedAt = Number.NEGATIVE_INFINITY
    drop()
  })
}, leaseMs / 12)

parentPort?.once('message', () => {
  clearInterval(timer)
  drop()
  // A connection attempt in progress would keep the thread alive.
  process.exit()
})
