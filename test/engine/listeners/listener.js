// A process that listens to the deaths of all processes. It reports each event, and handles it for as long as it is told.
import { createChronos } from '../../../dist/index.js'

const [store = '', mode = ''] = process.argv.slice(2)
if (!store) throw new Error('usage: listener.js STORE [stuck]')

const chronos = createChronos({ store, log: false })
await chronos.on(
  'job.dead',
  ({ job }) => {
    process.send?.(`heard ${job.key}`)
    return mode === 'stuck' ? new Promise(() => undefined) : undefined
  },
  { everywhere: true, as: 'billing', concurrency: 2, lease: '1s', retry: 'lowLatency' },
)
process.send?.('ready')
process.on('message', async () => {
  await chronos.close()
  process.disconnect()
})
