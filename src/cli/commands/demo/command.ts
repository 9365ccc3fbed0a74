import { type Command, InvalidArgumentError } from 'commander'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import type { DemoOptions } from './show.js'

const SEED_MAX = 2 ** 32 - 1

const EXAMPLES = `
Examples:
  $ chronos demo                            watch it
  $ chronos demo --seed 7                   the same delays at every run
  $ chronos demo --store sqlite:./demo.db   keep the file to look into it
  $ chronos demo --json | jq '.jobs[] | {name, state, reason}'

Exit codes: 0 when every job ended as its story says, 8 when one did not.`

/** R50: jobs with different fates, live; then their final states, their execution logs and the retry statistics. */
export function addDemo(program: Command, io: Io, exit: (code: number) => void): void {
  program
    .command('demo')
    .summary('watch jobs fail, retry, die and succeed')
    .description(
      'Runs eight jobs with different fates on the real engine and a real SQLite file, for about six seconds: ' +
        'shown live, then as final states, execution logs and retry statistics.',
    )
    .option('--json', 'one JSON document on stdout instead: jobs with their history, stats, events')
    .option('--seed <number>', 'draw the same jitter as another run with this seed', parseSeed)
    .option('--store <url>', 'a new SQLite file to keep, sqlite:PATH (default: a temporary one)', parseStore)
    .option('--log', "show the engine's own log lines too, on stderr")
    .addHelpText('after', EXAMPLES)
    .action(async (options: DemoOptions) => {
      const { showDemo } = await import('./show.js')
      exit((await showDemo(options, io)) ? EXIT.ok : EXIT.checkFailed)
    })
}

function parseSeed(text: string): number {
  const seed = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(seed <= SEED_MAX)) throw new InvalidArgumentError(`Expected a whole number from 0 to ${SEED_MAX}.`)
  return seed
}

function parseStore(url: string): string {
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (path !== '' && path !== ':memory:') return path
  throw new InvalidArgumentError('Expected sqlite:PATH; two processes share it, so it must be a file.')
}
