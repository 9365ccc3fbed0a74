import type { Command } from 'commander'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos config show
  $ chronos config show --config ./production.json
  $ chronos config show --json | jq '.data[] | select(.source != "default")'

A flag goes before the environment, which goes before a file, which goes before
the default. The file is chronos.config.json or chronos.config.mjs where you
are, or what --config names.`

/** What is set, and by whom. */
export function addConfig(program: Command, io: Io): void {
  const config = program
    .command('config')
    .summary('show every setting, and where it comes from')
    .description('Shows every setting, and where it comes from.')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXAMPLES)

  const show = config
    .command('show')
    .summary('list the settings with their values and sources')
    .description('Lists every setting with its value and its source. Secrets are not shown.')
    .addHelpText('after', EXAMPLES)
  addBackendOptions(show).action(async options => (await import('./show.js')).showConfig(options, io))
}
