import type { Command } from 'commander'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos top
  $ chronos top --url http://127.0.0.1:4100 --interval 1s
  $ chronos top --once | mail -s jobs ops@example.com

Keys: q quits, j and k choose a queue, P pauses or resumes it for everybody,
space holds the picture, + and - look less or more often.`

/** Everything at a glance, live. */
export function addTop(program: Command, io: Io): void {
  const top = program
    .command('top')
    .summary('watch queues, failures and workers, live')
    .description('Shows queues, what fails and who works, live in the terminal.')
    .option('--interval <duration>', 'look so often (default: 2s)')
    .option('--once', 'one picture on stdout, and no more')
    .addHelpText('after', EXAMPLES)
  addBackendOptions(top).action(async options => (await import('./run.js')).showTop(options, io))
}
