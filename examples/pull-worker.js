// A worker that needs only fetch: claims jobs from a Chronos server, runs them and reports their outcomes.
//     CHRONOS_URL=http://127.0.0.1:4100 CHRONOS_TOKEN=… QUEUES=default node pull-worker.js
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

const { CHRONOS_URL = 'http://127.0.0.1:4100', CHRONOS_TOKEN, QUEUES = 'default', LEASE = '30s' } = process.env
const api = `${CHRONOS_URL.replace(/\/$/, '')}/api/v1`
const headers = {
  'Content-Type': 'application/json',
  ...(CHRONOS_TOKEN !== undefined && { Authorization: `Bearer ${CHRONOS_TOKEN}` }),
}
const me = { workerId: `${hostname()}:${process.pid}`, host: hostname(), pid: process.pid }
const ask = { ...me, queues: QUEUES.split(','), lease: LEASE, wait: '10s' }

/** @typedef {{ token: string, leaseMs: number, job: { id: string, run: number, attempt: number, payload: object } }} Lease */
/** @typedef {{ data: Lease[], cancelRequested: boolean, status: string, detail: string }} Answer */

let stopping = false // SIGTERM: finish running jobs, start no new ones

/**
 * Your code: it returns the result or throws the failure. Long work should respect the signal.
 * @param {{ failures?: number, seconds?: number, numbers?: number[] }} payload
 * @param {{ attempt: number }} job
 * @param {AbortSignal} signal
 */
async function handle({ failures = 0, seconds = 0, numbers = [] }, job, signal) {
  if (failures >= job.attempt) throw new RangeError(`attempt ${job.attempt} was told to fail`)
  if (seconds > 0) await pause(seconds * 1000, undefined, { signal })
  return { sum: numbers.reduce((sum, number) => sum + number, 0), by: 'node' }
}

/**
 * A POST, repeated with increasing delays until there is a response. The token makes it safe to repeat.
 * @param {string} path
 * @param {object} body
 * @returns {Promise<Answer>}
 */
async function call(path, body) {
  for (let tries = 0; tries < 12; tries++) {
    const request = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(40_000) }
    // The server is down, or the connection broke.
    const response = await fetch(api + path, request).catch(() => undefined)
    const answer = /** @type {Answer | undefined} */ (await response?.json().catch(() => undefined))
    if (response?.ok && answer) return answer
    // 409: the lease is lost, and another worker has the job.
    if (response && response.status < 500 && response.status !== 429) throw new Error(answer?.detail)
    await pause(Math.min(10_000, 200 * 2 ** tries) * Math.random())
  }
  throw new Error(`no answer from ${api}`)
}

/**
 * @param {Lease} lease
 * @param {string} verb
 * @param {object} [said]
 */
const tell = ({ token, job }, verb, said) => call(`/leases/${job.id}/${verb}`, { token, run: job.run, ...said })

/** @param {Lease} lease */
async function run(lease) {
  const stop = new AbortController()
  // Renews the lease while the work goes on. Without it the worker counts as dead and loses the job.
  const keep = setInterval(async () => {
    const { cancelRequested } = await tell(lease, 'extend').catch(() => ({ cancelRequested: true }))
    if (cancelRequested) stop.abort()
  }, lease.leaseMs / 3)
  const end = await handle(lease.job.payload, lease.job, stop.signal).then(
    result => ({ verb: 'complete', said: { result } }),
    ({ name, message, code, stack }) => ({ verb: 'fail', said: { error: { name, message, code, stack } } }),
  )
  clearInterval(keep)
  return stop.signal.aborted ? tell(lease, 'release') : tell(lease, end.verb, end.said)
}

process.once('SIGTERM', () => {
  stopping = true
  console.log('stopping')
})
console.log('working as', me.workerId)
while (!stopping) {
  const { data } = await call('/leases:claim', { ...ask, token: randomBytes(16).toString('hex') })
  for (const lease of data) {
    const ended = stopping ? tell(lease, 'release', { started: false }) : run(lease)
    await ended.then(
      ({ status }) => console.log(lease.job.id, status),
      error => console.log(lease.job.id, 'was lost:', error.message),
    )
  }
}
