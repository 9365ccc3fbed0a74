// Runs jobs of a queue whose partitions run one job at a time, together with other such processes. A folder with the name
// of the partition exists while one of its jobs runs, so a second job at the same time can't create it.
import { mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { createChronos, defineJob } from '../../../../dist/index.js'

const [store = '', folder = ''] = process.argv.slice(2)

const chronos = createChronos({ store, log: false })
const step = defineJob({
  name: 'step',
  queue: 'crm',
  /** @param {{ partition: string }} payload */
  async run({ partition }) {
    const busy = join(folder, partition)
    try {
      mkdirSync(busy)
    } catch {
      process.send?.('two at once')
    }
    await new Promise(resolve => setImmediate(resolve))
    rmdirSync(busy)
    process.send?.('done')
  },
})
process.on('message', async text => {
  if (text === 'start') chronos.work([step], { concurrency: 20 })
  if (text !== 'stop') return
  await chronos.close()
  process.disconnect()
})
process.send?.('ready')
