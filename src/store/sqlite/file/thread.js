// The thread behind `guard.ts`. It is plain JavaScript, so that it loads both from the sources and from the package.
import { existsSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

/** @type {import('./guard.js').GuardData} */
const { path, specifier, workerId, leaseMs, stuckAfterMs, beat } = workerData
const beats = new BigInt64Array(beat)

let seen = Atomics.load(beats, 0)
let seenAt = performance.now()
let extendedAt = Number.NEGATIVE_INFINITY
/** @type {import('./driver.js').Database | undefined} */
let database

async function open() {
  const { emitWarning } = process
  // Node 22 warns that its SQLite is experimental; this thread has no other warnings.
  process.emitWarning = () => undefined
  const { DatabaseSync } = await import(specifier)
  process.emitWarning = emitWarning
  // To open a file that is missing would create it.
  if (!existsSync(path)) throw new Error(`${path} is missing`)
  /** @type {import('./driver.js').Database} */
  const opened = new DatabaseSync(path)
  // This thread does nothing else, so it may block while it waits for a lock.
  opened.exec('PRAGMA busy_timeout = 1000; PRAGMA synchronous = FULL')
  return opened
}

async function look() {
  // The thread reads a clock directly, because the thread that has the store's clock may be blocked. It measures only
  // the time since the last heartbeat.
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
  database ??= await open()
  const until = Math.floor(Number(seen) + silentMs + leaseMs)
  database.prepare(`UPDATE jobs SET lease_until = ? WHERE state = 'running' AND worker_id = ?`).run(until, workerId)
  Atomics.store(beats, 1, BigInt(until))
}

const timer = setInterval(() => {
  // The file may be locked for long, or missing: the next check tries again.
  look().catch(() => undefined)
}, leaseMs / 12)

// Without a listener, the port keeps the thread alive no longer. Deno has no `close` for it.
parentPort?.once('message', () => {
  clearInterval(timer)
  database?.close()
})
