import type { Command } from 'commander'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos queues list
  $ chronos queues pause payments
  $ chronos queues set payments --retry financial
  $ chronos queues set payments --retry '{"maxRetries": 8}'`

const SET_EXAMPLES = `
Examples:
  $ chronos queues set payments --retry financial
  $ chronos queues set payments --retry '{"maxRetries": 8}'
  $ chronos queues set payments --reset`

const LIST_EXAMPLES = `
Examples:
  $ chronos queues list
  $ chronos queues list --json | jq '.data[] | select(.paused) | .name'`

const PAUSE_EXAMPLES = `
Examples:
  $ chronos queues pause payments
  $ chronos queues resume payments`

/** What queues there are, and what can be changed while everything runs. */
export function addQueues(program: Command, io: Io): void {
  const queues = program
    .command('queues')
    .summary('look at queues, pause them, change their policy')
    .description('Looks at queues, pauses and resumes them, and changes their policy while everything runs.')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXAMPLES)

  const list = queues
    .command('list')
    .summary('list the queues')
    .description('Lists the queues by name, with how many jobs wait, run and are dead in each.')
    .addHelpText('after', LIST_EXAMPLES)
  addBackendOptions(list).action(async options => (await import('./run.js')).listQueues(options, io))

  const set = queues
    .command('set')
    .summary('change the retry policy of a queue')
    .description(
      'Changes the retry policy of a queue, over what the code says of it. Running workers hear of it within seconds; ' +
        'jobs that have an own policy, or whose definition has one, keep it.',
    )
    .argument('<name>', 'of the queue')
    .option('--retry <policy>', "a preset's name, or a policy as JSON")
    .option('--reset', 'take the policy of its own away')
    .addHelpText('after', SET_EXAMPLES)
  addBackendOptions(set).action(async (name, options) => (await import('./run.js')).setQueue(name, options, io))

  const pause = queues
    .command('pause')
    .summary('let no more jobs of a queue start')
    .description('Lets no more jobs of a queue start. Those that run go on; new ones may be added.')
    .argument('<name>', 'of the queue')
    .addHelpText('after', PAUSE_EXAMPLES)
  addBackendOptions(pause).action(async (name, options) => (await import('./run.js')).pauseQueue(name, options, io))

  const resume = queues
    .command('resume')
    .summary('let the jobs of a queue start again')
    .description('Lets the jobs of a paused queue start again.')
    .argument('<name>', 'of the queue')
    .addHelpText('after', PAUSE_EXAMPLES)
  addBackendOptions(resume).action(async (name, options) => (await import('./run.js')).resumeQueue(name, options, io))
}
