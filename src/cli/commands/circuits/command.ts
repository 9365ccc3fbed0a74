import type { Command } from 'commander'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos circuits list
  $ chronos circuits open https://pay.example      jobs wait, and lose nothing
  $ chronos circuits close https://pay.example     they come back step by step`

const LIST_EXAMPLES = `
Examples:
  $ chronos circuits list
  $ chronos circuits list --json | jq '.data[] | select(.state != "closed")'`

const OPEN_EXAMPLES = `
Examples:
  $ chronos circuits open https://pay.example
  $ chronos circuits close https://pay.example`

const CLOSE_EXAMPLES = `
Examples:
  $ chronos circuits close https://pay.example
  $ chronos circuits close https://pay.example --hold    whatever fails`

/** What the fleet knows about the things that its jobs depend on. */
export function addCircuits(program: Command, io: Io): void {
  const circuits = program
    .command('circuits')
    .summary('look at circuits, and open or close them by hand')
    .description('Looks at circuits, which hold jobs back while what they depend on is down, and opens or closes them.')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXAMPLES)

  const list = circuits
    .command('list')
    .summary('list the circuits')
    .description(
      'Lists the circuits by name: whether each lets jobs through, how its last calls ended, and when it is tried again.',
    )
    .addHelpText('after', LIST_EXAMPLES)
  addBackendOptions(list).action(async options => (await import('./run.js')).listCircuits(options, io))

  const open = circuits
    .command('open')
    .summary('hold jobs back until the circuit is closed')
    .description('Holds a circuit open: its jobs wait, lose no attempt, and none is sent ahead until it is closed.')
    .argument('<key>', 'what the jobs depend on')
    .addHelpText('after', OPEN_EXAMPLES)
  addBackendOptions(open).action(async (key, options) => (await import('./run.js')).openCircuit(key, options, io))

  const close = circuits
    .command('close')
    .summary('let jobs through again')
    .description('Closes a circuit, and leaves it to itself again. What waited comes back step by step.')
    .argument('<key>', 'what the jobs depend on')
    .option('--hold', 'keep it closed whatever fails, until it is closed without this')
    .addHelpText('after', CLOSE_EXAMPLES)
  addBackendOptions(close).action(async (key, options) => (await import('./run.js')).closeCircuit(key, options, io))
}
