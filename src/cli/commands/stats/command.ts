import type { Command } from 'commander'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos stats
  $ chronos stats --json | jq .retrySuccessRate
  $ watch -n 5 chronos stats`

/** The whole fleet in numbers. */
export function addStats(program: Command, io: Io): void {
  const stats = program
    .command('stats')
    .summary('the whole fleet in numbers')
    .description('Shows the whole fleet in numbers: jobs by phase, retries and how many of them helped, workers.')
    .addHelpText('after', EXAMPLES)
  addBackendOptions(stats).action(async options => (await import('./run.js')).showStats(options, io))
}
