// A worker whose process dies of one of its jobs. Each start goes to a ledger outside the system.
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createChronos, defineJob, fixed } from '../../../dist/index.js'

const [store = '', ledger = '', crashes = 'count'] = process.argv.slice(2)
if (!store || !ledger) throw new Error('usage: poison-worker.js STORE LEDGER [forgive]')

const task = defineJob({
  name: 'task',
  retry: fixed({
    delay: '20ms',
    maxRetries: crashes === 'forgive' ? 5 : 10,
    jitter: 'none',
    crashes: crashes === 'forgive' ? 'forgive' : 'count',
  }),
  /** @param {{ kills: boolean }} payload */
  async run({ kills }, job) {
    appendFileSync(ledger, `start ${job.id} ${job.run} ${job.attempt} ${process.pid}\n`)
    // Long enough for all that were started together to be running.
    await sleep(kills ? 60 : 120)
    if (kills) process.abort()
  },
})

const chronos = createChronos({ store, log: false })
chronos.work([task], { concurrency: 50, lease: '1s' })
chronos.work([task], { queues: ['neighbours'], concurrency: 1, lease: '1s' })
process.send?.('ready')
