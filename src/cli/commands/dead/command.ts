import { type Command, Option } from 'commander'
import { rate, share, wholeNumber } from '../../argument.js'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { addDeadFilterOptions } from '../jobs/filter.js'
import { DEAD_EXAMPLES, DEAD_WORDS } from './help.js'

type Exit = (code: number) => void

/** What ended without success: what it died of, and how to send it round again. */
export function addDead(program: Command, io: Io, exit: Exit): void {
  const dead = program
    .command('dead')
    .summary('look at dead jobs by what they died of, and redrive them')
    .description('Looks at dead jobs, by what they died of, and sends them round again.')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', DEAD_EXAMPLES)
  addReading(dead, io)
  addRedrive(dead, io, exit)
  for (const name of ['acknowledge', 'discard'] as const) {
    const command = chosen(told(dead, name))
    addBackendOptions(command).action(async (ids, options) =>
      (await import('./settle.js')).settleDead(name, ids, options, io),
    )
  }
  for (const name of ['resolve', 'ignore', 'reopen'] as const) {
    const command = aGroup(told(dead, name))
    addBackendOptions(command).action(async (fingerprint, options) =>
      (await import('./group.js')).setGroup(name, fingerprint, options, io),
    )
  }
}

function addReading(dead: Command, io: Io): void {
  const list = addDeadFilterOptions(paged(told(dead, 'list')))
  addBackendOptions(list).action(async options => (await import('./list.js')).listDead(options, io))

  const state = new Option('--state <state>', 'in this state only')
  state.argChoices = ['open', 'resolved', 'regressed', 'ignored']
  const groups = paged(told(dead, 'groups'))
    .option('--all', 'also those without dead jobs, and resolved and ignored ones')
    .addOption(state)
    .option('--tenant <id>', 'of this tenant')
  addBackendOptions(groups).action(async options => (await import('./groups.js')).listGroups(options, io))

  const group = aGroup(told(dead, 'group'))
  addBackendOptions(group).action(async (fingerprint, options) =>
    (await import('./group.js')).showGroup(fingerprint, options, io),
  )
}

function addRedrive(dead: Command, io: Io, exit: Exit): void {
  const redrive = told(dead, 'redrive')
    .addOption(new Option('--rate <rate>', 'how fast, once all is well: 20/s, 600/m (default: 10/s)').argParser(rate))
    .option('--canary <number>', 'how many go first; 0 for none (default: 10)', wholeNumber)
    .addOption(new Option('--stop-when-failing <share>', 'stop when more fail again (default: 0.2)').argParser(share))
    .option('--force', 'also jobs of which nobody knows whether they were carried out')
    .option('--detach', 'print the id and return, instead of watching it')
  addBackendOptions(chosen(redrive)).action(async (ids, options) => {
    const { redriveDead } = await import('./redrive.js')
    exit(await redriveDead(ids, options, io))
  })
}

function told(dead: Command, name: keyof typeof DEAD_WORDS): Command {
  const { summary, description, examples } = DEAD_WORDS[name]
  return dead.command(name).summary(summary).description(description).addHelpText('after', examples)
}

function paged(command: Command): Command {
  return command
    .addOption(new Option('--limit <number>', 'how many, up to 200 (default: 50)').argParser(wholeNumber))
    .option('--cursor <text>', 'go on where another page ended')
}

/** Which dead jobs something is done to. */
function chosen(command: Command): Command {
  return addDeadFilterOptions(command.argument('[ids...]', 'dead jobs, by their ids'))
    .option('--all', 'all dead jobs')
    .option('--dry-run', 'only tell how many there are, and show some')
    .option('--yes', 'do it: without this, nothing is done to jobs that a filter chose')
}

function aGroup(command: Command): Command {
  return command
    .argument('<fingerprint>', 'of the error group')
    .option('--tenant <id>', 'whose group it is, where groups belong to tenants')
}
