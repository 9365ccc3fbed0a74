// A worker that knows only HTTP: it claims, renews and ends runs through a server.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLedger } from './ledger.js'
import './orphan.js'

const [url = '', ledger = ''] = process.argv.slice(2)
if (!url || !ledger) throw new Error('usage: puller.js URL LEDGER')

/** @typedef {{ id: string, run: number, attempt: number, generation: number }} Job */

const note = openLedger(ledger)
let isOver = false

/**
 * Repeats a call until there is an answer: the token makes that safe.
 *
 * @param {string} path
 * @param {object} body
 * @returns {Promise<{ status: number, answer: { data?: { token: string, job: Job }[] } }>}
 */
async function call(path, body) {
  for (;;) {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(10_000) }
    const response = await fetch(`${url}/api/v1${path}`, request).catch(() => undefined)
    const answer = await response?.json().catch(() => undefined)
    if (response && answer && response.status < 500 && response.status !== 429) {
      return { status: response.status, answer }
    }
    if (isOver && !process.connected) process.exit(0)
    await sleep(200)
  }
}

/** @param {{ token: string, job: Job }} lease */
async function run({ token, job: { id, run, attempt, generation } }) {
  const facts = { id, run, attempt, generation, pid: process.pid }
  note('started', { ...facts, name: 'pulled' })
  await sleep(30)
  const fails = attempt === 1 && id.charCodeAt(35) % 4 === 0
  note('ended', { ...facts, how: fails ? 'threw' : 'returned' })
  const said = fails ? { error: { name: 'Error', message: 'not yet' } } : { result: 'pulled' }
  const { status } = await call(`/leases/${id}/${fails ? 'fail' : 'complete'}`, { token, run, ...said })
  if (status !== 200) note('lease lost', { ...facts, status })
}

process.once('SIGTERM', () => {
  isOver = true
})
process.send?.('ready')
while (!isOver) {
  const token = randomBytes(16).toString('hex')
  const claim = { workerId: `puller:${process.pid}`, queues: ['pull'], limit: 5, lease: '1s', wait: '1s', token }
  const { answer } = await call('/leases:claim', claim)
  await Promise.all((answer.data ?? []).map(run))
}
process.exit(0)
