import { InvalidArgumentError } from 'commander'
import type { CommandSpec } from '../../command.js'

const SEED_MAX = 2 ** 32 - 1

export const demo: CommandSpec = {
  name: 'demo',
  summary: 'run eight jobs with eight different outcomes',
  details:
    'The demo uses the real engine and a real SQLite file, and takes about six seconds. It shows the jobs live, then ' +
    'their final states, execution logs and retry statistics.',
  options: command =>
    command
      .option('--json', 'print one JSON document: jobs with their history, stats, events')
      .option('--seed <number>', 'repeat the jitter of a run with this seed', parseSeed)
      .option('--store <url>', 'keep the data in a new SQLite file: sqlite:PATH', parseStore)
      .option('--log', "also print the engine's log lines to stderr"),
  common: 'none',
  examples: `
chronos demo
chronos demo --seed 7                   the same delays in every run
chronos demo --store sqlite:./demo.db   keep the file
chronos demo --json | jq '.jobs[] | {name, state, reason}'`,
  notes: 'Exit codes: 0 every job had the expected outcome, 8 a job had another one.',
  run: async () => (await import('./show.js')).showDemo,
}

function parseSeed(text: string): number {
  const seed = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(seed <= SEED_MAX)) throw new InvalidArgumentError(`Expected a whole number from 0 to ${SEED_MAX}.`)
  return seed
}

function parseStore(url: string): string {
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (path !== '' && path !== ':memory:') return path
  throw new InvalidArgumentError('Expected sqlite:PATH; two processes share the store, so it must be a file.')
}
