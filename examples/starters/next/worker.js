import { createChronos } from 'chronos-jobs'
import { charge } from './lib/jobs.js'

// A process of its own: Next.js may start, stop and copy its servers at any time. SIGTERM stops the worker.
const chronos = createChronos({ store: process.env.CHRONOS_STORE ?? 'sqlite:./chronos.db' })
chronos.work([charge])
