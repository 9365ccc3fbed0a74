import type { Command } from 'commander'
import type { Io } from '../../io.js'
import { addServiceOptions, addWorkerOptions } from '../../service/options.js'

const EXAMPLES = `
Examples:
  $ chronos worker --jobs ./jobs.js
  $ chronos worker --jobs ./jobs.js --queues mail,payments --concurrency 50
  $ CHRONOS_STORE=postgres://… chronos worker --jobs ./dist/jobs.js

./jobs.js exports what defineJob gives: by name, as its default, or in arrays.
SIGTERM stops it well: running jobs may end, the others are handed back.`

/** Runs jobs until it is told to stop. */
export function addWorker(program: Command, io: Io): void {
  const worker = program
    .command('worker')
    .summary('run the jobs of a module')
    .description('Runs the jobs that a module exports, until it is told to stop. Every worker makes HTTP calls too.')
    .addHelpText('after', EXAMPLES)
  addServiceOptions(addWorkerOptions(worker)).action(async options => (await import('./run.js')).runWorker(options, io))
}
