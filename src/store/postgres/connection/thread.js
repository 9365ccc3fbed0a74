// The thread behind `guard.ts`. Plain JavaScript, so that it loads from the sources and from the package alike.
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
  // Outside of `engine/time/system.ts`, a clock: the other thread, which has one, is the one that may not answer. Only the
  // time since its last beat is measured here.
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
  // The server may be away: the next look tries again, with another connection.
  look().catch(() => {
    extendedAt = Number.NEGATIVE_INFINITY
    drop()
  })
}, leaseMs / 12)

parentPort?.on('message', () => {
  clearInterval(timer)
  parentPort?.close()
  drop()
  // A connection that is being made just now would keep the thread alive, and whoever waits for its end.
  process.exit()
})
