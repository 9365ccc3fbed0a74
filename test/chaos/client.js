// A client process: with each word of its parent it enqueues more jobs, and writes to the ledger what was acknowledged.
import { appendFileSync } from 'node:fs'
import { createChronos } from '../../dist/index.js'

const [store = '', ledger = '', total = '', share = ''] = process.argv.slice(2)
if (!store || !ledger || !total || !share) throw new Error('usage: client.js STORE LEDGER TOTAL SHARE')

const BEHAVIOURS = ['ok', 'ok', 'ok', 'ok', 'slow', 'flaky', 'failing']
const BATCH = 20

const chronos = createChronos({ store, log: false })
await chronos.info()

/** @param {number} number */
async function enqueue(number) {
  const behaviour = number === 0 ? 'hanging' : BEHAVIOURS[number % BEHAVIOURS.length]
  const { id } = await chronos.enqueue(number % 10 === 9 ? 'most' : 'least', { behaviour }, { key: `job:${number}` })
  appendFileSync(ledger, `ack ${id}\n`)
}

let wanted = 0
let sent = 0
/** @type {Promise<void>} */
let sending = Promise.resolve()

async function send() {
  while (sent < wanted) {
    const first = sent
    sent = Math.min(wanted, first + BATCH)
    await Promise.all(Array.from({ length: sent - first }, (_, index) => enqueue(first + index)))
  }
}

process.on('message', () => {
  wanted = Math.min(Number(total), wanted + Number(share))
  sending = sending.then(send)
  if (wanted === Number(total)) void leave()
})

async function leave() {
  process.removeAllListeners('message')
  await sending
  await chronos.close()
  process.disconnect?.()
}
process.send?.('ready')
