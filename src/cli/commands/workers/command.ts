import type { Command } from 'commander'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos workers
  $ chronos workers --json | jq '[.data[] | select(.state == "alive")] | length'

A worker that ends says so and is gone from here; one that was killed is silent
after three missed signs of life.`

/** Who works, where, on what. */
export function addWorkers(program: Command, io: Io): void {
  const workers = program
    .command('workers')
    .summary('list the workers of the whole fleet')
    .description('Lists the workers of all machines, newest first: what each works on, and its last sign of life.')
  addBackendOptions(workers)
    .addHelpText('after', EXAMPLES)
    .action(async options => (await import('./run.js')).listWorkers(options, io))
}
