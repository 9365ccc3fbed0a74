import type { Command } from 'commander'
import { addStoreOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos prune --succeeded 7d --dry-run
  $ chronos prune --succeeded 7d --cancelled 30d --dead 90d --yes
  $ chronos prune --yes                    the ages of your configuration

Jobs that wait or run are never removed, and keys are remembered for another
day. Workers do the same by themselves where \`retention\` is configured.`

/** Ended jobs that nobody will ask for any more. */
export function addPrune(program: Command, io: Io): void {
  const prune = program
    .command('prune')
    .summary('remove jobs that ended long ago')
    .description('Removes the records of jobs that ended longer ago than you say, with their history.')
    .option('--succeeded <age>', 'jobs that succeeded so long ago: 12h, 7d')
    .option('--cancelled <age>', 'jobs that were cancelled so long ago')
    .option('--dead <age>', 'jobs that died so long ago')
    .option('--dry-run', 'only tell how many there are')
    .option('--yes', 'do it: without this, nothing is removed')
    .addHelpText('after', EXAMPLES)
  addStoreOptions(prune).action(async options => (await import('./run.js')).pruneStore(options, io))
}
