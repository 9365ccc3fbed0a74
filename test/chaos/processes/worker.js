// A worker process that a scenario kills, freezes or starves.
import { createChronos } from '../../../dist/index.js'
import { definitions } from './jobs.js'
import { openLedger } from './ledger.js'
import './orphan.js'

const [store = '', ledger = '', folder = '', lease = '1s'] = process.argv.slice(2)
if (!store || !ledger || !folder) throw new Error('usage: worker.js STORE LEDGER FOLDER [LEASE]')

const chronos = createChronos({ store, log: false, egress: { allow: ['127.0.0.1:*'] } })
const options = { concurrency: 20, lease: /** @type {`${number}s`} */ (lease), grace: /** @type {const} */ ('5s') }
chronos.work(definitions(openLedger(ledger), folder), options)
process.on('message', text => {
  if (text !== 'sample') return
  globalThis.gc?.()
  process.send?.(`heap ${process.memoryUsage().heapUsed}`)
})
process.send?.('ready')
