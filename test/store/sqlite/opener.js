// Opens a store that may not exist yet, puts a job into it, and ends.
import { createChronos } from '../../../dist/index.js'

const chronos = createChronos({ store: process.argv[2] ?? '', log: false })
process.send?.('ready')
await chronos.enqueue('anything', {})
await chronos.close()
process.disconnect()
