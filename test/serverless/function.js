// A function of a serverless platform, in a process that the test kills. Arguments: the store, and what its job does.
import { createChronos, defineJob } from '../../dist/index.js'
import { tick } from '../../dist/serverless.js'

const [store = '', behaviour] = process.argv.slice(2)
const chronos = createChronos({ store, log: false })
const charge = defineJob({
  name: 'charge',
  timeout: '4s',
  retry: { maxRetries: 3, backoff: { type: 'fixed', delay: 1 }, jitter: 'none' },
  async run() {
    process.send?.('started')
    if (behaviour === 'hang') await new Promise(() => process.on('message', () => undefined))
    return 'charged'
  },
})
const report = await tick(chronos, [charge], { within: '10s', lease: '1s' }).run()
process.send?.(report)
await chronos.close()
process.disconnect?.()
