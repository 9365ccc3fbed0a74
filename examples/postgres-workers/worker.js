// A worker. Start as many as you like, on as many machines as you like: `node worker.js A`, `node worker.js B`.
// On SIGTERM it finishes running jobs and exits.
import { createChronos } from 'chronos-jobs'
import { resize, store } from './jobs.js'

const chronos = createChronos({ store, log: false })
await chronos.info()
chronos.work([resize], { concurrency: 2 })
console.log(`${process.argv[2] ?? process.pid} waits for photos`)
