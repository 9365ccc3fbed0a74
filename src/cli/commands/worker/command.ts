import type { CommandSpec } from '../../command.js'
import { addServiceOptions, addWorkerOptions } from '../../service/options.js'

export const worker: CommandSpec = {
  name: 'worker',
  summary: 'run the jobs that a module exports',
  details: 'Every worker also runs HTTP jobs.',
  options: command => addServiceOptions(addWorkerOptions(command)),
  common: 'none',
  examples: `
chronos worker --jobs ./jobs.js
chronos worker --jobs ./jobs.js --queues mail,payments --concurrency 50
CHRONOS_STORE=postgres://… chronos worker --jobs ./dist/jobs.js`,
  notes: `
./jobs.js exports job definitions: by name, as default, or in arrays. SIGTERM
stops the worker gracefully: running jobs may finish within the grace period,
the others are released for another worker.`,
  run: async () => (await import('./run.js')).runWorker,
}
