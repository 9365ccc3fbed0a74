// A process that waits for the results of many jobs that another process runs, and reports what it saw and what it cost.
import { createChronos } from '../../../dist/index.js'

const [store = '', ids = ''] = process.argv.slice(2)
if (!store || !ids) throw new Error('usage: waiter.js STORE IDS')

const chronos = createChronos({ store, log: false })
const nothing = () => undefined
let queries = 0
chronos.measure({
  stopwatch: () => performance.now(),
  enqueued: nothing,
  started: nothing,
  retried: nothing,
  ended: nothing,
  finished: nothing,
  leaseLost: nothing,
  ticked: nothing,
  stored: () => {
    queries++
  },
})

/** @returns {number} */
const heap = () => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

await chronos.info()
queries = 0
const heapBefore = heap()
const since = performance.now()
let lateMs = 0
const waits = JSON.parse(ids).map(async (/** @type {string} */ id) => {
  const result = /** @type {{ at: number, id: string }} */ (await chronos.jobs.result('stamp', id))
  lateMs = Math.max(lateMs, Date.now() - result.at)
  return result.id === id
})
process.send?.('ready')
const right = (await Promise.all(waits)).filter(Boolean).length
const seconds = (performance.now() - since) / 1000
waits.length = 0
const report = { right, queries, seconds, lateMs, heapGrowth: heap() - heapBefore }
await chronos.close()
process.send?.(JSON.stringify(report))
