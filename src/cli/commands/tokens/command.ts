import { type Command, Option } from 'commander'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos tokens create deploy --role operator
  $ chronos tokens create acme-dashboard --role viewer --tenant acme
  $ chronos tokens list
  $ chronos tokens revoke ID`

const CREATE_EXAMPLES = `
Examples:
  $ chronos tokens create deploy --role operator --expires-in 90d
  $ chronos tokens create acme --role viewer --tenant acme
  $ CHRONOS_TOKEN="$(chronos tokens create me --role admin)"

The token goes to stdout, this once: only its hash is kept. A viewer reads, an
operator sets jobs right and pauses queues, an admin does everything. A token of
a tenant sees and touches nothing else.`

const ROLES = ['viewer', 'operator', 'admin']

/** Who may come in by a server. */
export function addTokens(program: Command, io: Io): void {
  const tokens = program
    .command('tokens')
    .summary('make, list and revoke what lets people in')
    .description('Makes, lists and revokes tokens, which let people and programs in by a server.')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXAMPLES)

  const create = tokens
    .command('create')
    .summary('make a token')
    .description('Makes a token. It goes to stdout, this once.')
    .argument('<name>', 'who or what it is for')
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory())
    .option('--tenant <id>', 'only for what belongs to this tenant')
    .option('--expires-in <duration>', 'good for so long: 12h, 90d (default: for ever)')
    .addHelpText('after', CREATE_EXAMPLES)
  addBackendOptions(create).action(async (name, options) => (await import('./run.js')).createToken(name, options, io))

  const list = tokens
    .command('list')
    .summary('list the tokens, newest first')
    .description('Lists the tokens, newest first: whose they are, what they may do, and when they were last used.')
    .addHelpText('after', '\nExamples:\n  $ chronos tokens list\n  $ chronos tokens list --json')
  addBackendOptions(list).action(async options => (await import('./run.js')).listTokens(options, io))

  const revoke = tokens
    .command('revoke')
    .summary('take a token back')
    .description('Takes a token back. Servers let it in for another five seconds at most.')
    .argument('<id>', 'of the token')
    .addHelpText('after', '\nExamples:\n  $ chronos tokens revoke ID')
  addBackendOptions(revoke).action(async (id, options) => (await import('./run.js')).revokeToken(id, options, io))
}
