// A worker process that the test kills while its handlers hang. Each start goes to a ledger outside the system.
import { appendFileSync } from 'node:fs'
import { createChronos, defineJob, fixed } from '../../../dist/index.js'

const [store = '', ledger = '', enough = ''] = process.argv.slice(2)
if (!store || !ledger || !enough) throw new Error('usage: limit-worker.js STORE LEDGER HANGING')

let hanging = 0

/** @param {string} name @param {number} maxRetries */
const task = (name, maxRetries) =>
  defineJob({
    name,
    retry: fixed({ delay: '20ms', maxRetries, jitter: 'none' }),
    /** @param {{ hangs: number }} payload */
    async run({ hangs }, job) {
      appendFileSync(ledger, `start ${job.id} ${job.run} ${job.attempt}\n`)
      if (job.attempt > hangs) return
      hanging++
      if (hanging === Number(enough)) process.send?.('hangs')
      await new Promise(() => {})
    },
  })

const chronos = createChronos({ store, log: false })
chronos.work([task('never-again', 0), task('once-more', 1)], { concurrency: 50, lease: '1s' })
process.send?.('ready')
