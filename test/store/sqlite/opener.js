// Opens a store whose file may not exist yet, enqueues a job, and exits.
import { createChronos } from '../../../dist/index.js'

const chronos = createChronos({ store: process.argv[2] ?? '', log: false })
process.send?.('ready')
await chronos.enqueue('anything', {})
await chronos.close()
process.disconnect()
