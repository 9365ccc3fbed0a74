// A worker process that a test kills. Every start and end of a handler goes to a ledger outside the system:
// one line each, appended by one write, so that it survives kill -9.
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createChronos, defineJob, fixed } from '../../../dist/index.js'

const [store = '', ledger = '', grace = '5s'] = process.argv.slice(2)
if (!store || !ledger) throw new Error('usage: worker.js STORE LEDGER [GRACE]')

/** @param {string} what @param {import('../../../dist/index.js').JobContext} job */
function note(what, job) {
  appendFileSync(ledger, `${what} ${job.id} ${job.run} ${job.attempt} ${process.pid}\n`)
}

/** @type {Record<string, (job: import('../../../dist/index.js').JobContext) => Promise<unknown>>} */
const behaviours = {
  ok: async () => 'done',
  slow: async () => sleep(150),
  // Longer than its lease.
  long: async () => sleep(2500),
  flaky: async job => {
    if (job.attempt < 2) throw new Error('not yet')
  },
  failing: async () => {
    throw new Error('never')
  },
  // Its first run never ends; the test kills it.
  hanging: async job => {
    if (job.run > 1) return
    process.send?.('hangs')
    await new Promise(() => {})
  },
  // Until its signal says stop.
  endless: job =>
    new Promise((_resolve, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason))),
  // Three leases long, and nothing else runs in this process meanwhile.
  blocking: async () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000)
  },
  deaf: () => new Promise(() => setInterval(() => {}, 1000)),
}

const retry = fixed({ delay: '20ms', maxRetries: 2, jitter: 'none' })
/** @param {string} name @param {'at-least-once' | 'at-most-once'} delivery */
const define = (name, delivery) =>
  defineJob({
    name,
    delivery,
    retry,
    /** @param {{ behaviour: string }} payload */
    async run({ behaviour }, job) {
      note('start', job)
      await behaviours[behaviour]?.(job)
      note('end', job)
    },
  })

const chronos = createChronos({ store, log: false })
const jobs = [define('least', 'at-least-once'), define('most', 'at-most-once')]
chronos.on('job.started', () => process.send?.('started'))
chronos.work(jobs, { concurrency: 20, lease: '1s', grace: /** @type {`${number}s`} */ (grace) })
process.send?.('ready')
