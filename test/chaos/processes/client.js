// A client process: it enqueues jobs of every kind at a given pace until its parent says stop, and writes to the ledger
// what it asked for and what it was told.
import { setTimeout as sleep } from 'node:timers/promises'
import { createChronos } from '../../../dist/index.js'
import { MAX_RETRIES } from './facts.js'
import { openLedger } from './ledger.js'
import './orphan.js'

const [store = '', ledger = '', perSecond = '', liveMax = '2000'] = process.argv.slice(2)
if (!store || !ledger || !perSecond) throw new Error('usage: client.js STORE LEDGER PER_SECOND [LIVE_MAX]')

const NAMES = [...Object.keys(MAX_RETRIES), 'pulled', 'plain', 'slow']
const TENANTS = [undefined, 'acme', 'bolt']
const TICK_MS = 50
const PULLED_BACKOFF = { type: /** @type {const} */ ('fixed'), delay: /** @type {const} */ ('20ms') }

const note = openLedger(ledger)
const chronos = createChronos({ store, log: false })
let isOver = false

/**
 * Asks until there is an answer. Without a key, a repeated call could create a second job, so it asks once.
 *
 * @param {number} number
 */
async function enqueue(number) {
  // Tenants use the same keys for the same jobs.
  const shared = Math.floor(number / TENANTS.length)
  const name = NAMES[shared % NAMES.length] ?? 'plain'
  const tenantId = TENANTS[number % TENANTS.length]
  const key = number % 7 === 0 ? undefined : `job:${process.pid}:${shared}`
  const call = `${process.pid}:${number}`
  const options = {
    tags: [`call:${call}`],
    ...(key !== undefined && { key }),
    ...(tenantId !== undefined && { tenantId }),
    ...(name === 'most' && { delivery: /** @type {const} */ ('at-most-once') }),
    ...(name === 'pulled' && { queue: 'pull', retry: { maxRetries: 2, backoff: PULLED_BACKOFF } }),
  }
  note('asked', { call, name, key, tenantId })
  for (;;) {
    try {
      const { id, status } = await chronos.enqueue(name, { number }, options)
      return note('acknowledged', { call, id, status })
    } catch (error) {
      const { code } = /** @type {{ code?: string }} */ (error)
      note(code === 'STORE_UNKNOWN' ? 'unknown' : 'refused', { call, code, message: String(error) })
      if (key === undefined || (isOver && !process.connected)) return
      await sleep(200)
    }
  }
}

async function liveCount() {
  const { value } = await chronos.jobs.count({ state: ['waiting', 'running'] }).catch(() => ({ value: 0 }))
  return value
}

async function send() {
  const batch = Math.max(1, Math.round((Number(perSecond) * TICK_MS) / 1000))
  for (let next = 0; !isOver; next += batch) {
    await Promise.all(Array.from({ length: batch }, (_, index) => enqueue(next + index)))
    await sleep(TICK_MS)
    // Workers that are killed fall behind; more than this proves nothing more.
    if (next % (batch * 20) === 0) while (!isOver && (await liveCount()) > Number(liveMax)) await sleep(500)
  }
}

process.on('message', text => {
  if (text === 'stop') isOver = true
})
process.send?.('ready')
await send()
await chronos.close()
process.disconnect?.()
