// A worker of queues with limits, which a scenario kills or freezes.
import { setTimeout as sleep } from 'node:timers/promises'
import { createChronos, defineJob, fixed } from '../../../dist/index.js'
import { LIMITED } from './facts.js'
import { openLedger } from './ledger.js'
import './orphan.js'

const [store = '', ledger = '', folder = '', lease = '1s'] = process.argv.slice(2)
if (!store || !ledger || !folder) throw new Error('usage: partitions.js STORE LEDGER FOLDER [LEASE]')

const note = openLedger(ledger)
const limited = defineJob({
  name: 'limited',
  retry: fixed({ delay: '20ms', maxRetries: 100, jitter: 'none' }),
  /** @param {{ ms: number, fails?: boolean, silent?: boolean }} payload */
  async run({ ms, fails, silent }, job) {
    const facts = { id: job.id, run: job.run, attempt: job.attempt, generation: job.generation, pid: process.pid }
    if (!silent) note('started', { ...facts, name: 'limited' })
    if (ms > 0) await sleep(ms)
    const isFailing = fails && job.attempt === 1
    if (!silent) note('ended', { ...facts, how: isFailing ? 'threw' : 'returned' })
    if (isFailing) throw new Error('the first run fails')
  },
})

const chronos = createChronos({ store, log: false })
const options = { concurrency: 50, lease: /** @type {`${number}s`} */ (lease), queues: Object.keys(LIMITED) }
chronos.work([limited], options)
process.send?.('ready')
