import type { Command } from 'commander'
import type { Io } from '../../io.js'
import { addServiceOptions, addWorkerOptions } from '../../service/options.js'

const EXAMPLES = `
Examples:
  $ chronos dev
  $ chronos dev --demo --open              a shop at night, in your browser
  $ chronos dev --jobs ./jobs.js --port 5000

Everything in one process on one SQLite file, for this machine only. HTTP jobs
may call it, too: /__echo?status=503&fail=2&delay=1s answers 503 to the first
two calls of a job, a second late, and 200 from then on.`

/** Server, worker, scheduler and dashboard in one process. */
export function addDev(program: Command, io: Io): void {
  const dev = program
    .command('dev')
    .summary('start everything on this machine, to try it out')
    .description('Starts server, worker, scheduler and dashboard in one process on one SQLite file.')
    .option('--port <number>', 'listen on this port; 0 takes a free one (default: 4100)')
    .option('--demo', 'fill every screen with jobs that live (in ./chronos-demo.db, unless --store says otherwise)')
    .option('--open', 'show the dashboard in your browser')
    .addHelpText('after', EXAMPLES)
  addServiceOptions(addWorkerOptions(dev)).action(async options => (await import('./run.js')).runDev(options, io))
}
