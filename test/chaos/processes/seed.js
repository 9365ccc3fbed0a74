// Enqueues jobs with any version of the library and lets some of them end.
import { createChronos, defineJob } from '../../../dist/index.js'

const [store = '', count = ''] = process.argv.slice(2)
if (!store || !count) throw new Error('usage: seed.js STORE COUNT')

const chronos = createChronos({ store, log: false })
const numbers = Array.from({ length: Number(count) }, (_, number) => number)
await chronos.enqueueMany('later', numbers, number => ({ key: `later:${number}`, delay: '1h' }))
const done = defineJob({ name: 'done', run: async () => 'done' })
let ended = 0
chronos.on('job.succeeded', () => {
  ended++
  if (ended < numbers.length) return
  void chronos.close().then(() => process.exit(0))
})
await chronos.enqueueMany(/** @type {never} */ (done), /** @type {never} */ (numbers))
chronos.work([/** @type {never} */ (done)], { signals: false })
process.send?.('ready')
