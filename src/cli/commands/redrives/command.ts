import { type Command, Option } from 'commander'
import { rate, wholeNumber } from '../../argument.js'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos redrives list
  $ chronos redrives get ID --follow
  $ chronos redrives pause ID
  $ chronos redrives rate ID 5/s

\`chronos dead redrive\` starts one.`

const LIST_EXAMPLES = `
Examples:
  $ chronos redrives list
  $ chronos redrives list --json | jq '.data[] | select(.state == "stopped")'`

const GET_EXAMPLES = `
Examples:
  $ chronos redrives get ID
  $ chronos redrives get ID --follow         until it ends
  $ chronos redrives get ID --json | jq '.conflicts'

With --follow, exit code 8 says that it was stopped by its rule or aborted.`

const RATE_EXAMPLES = `
Examples:
  $ chronos redrives rate ID 5/s
  $ chronos redrives rate ID 600/m`

const CHANGES = [
  {
    name: 'pause',
    summary: 'let no more jobs of a redrive start',
    description: 'Lets no more jobs of a redrive start. Those that have started go on.',
  },
  {
    name: 'resume',
    summary: 'go on with a redrive that was paused or stopped',
    description:
      'Goes on with a redrive that was paused, or stopped by its rule: mend the cause first. What had been started is not started again.',
  },
  {
    name: 'abort',
    summary: 'end a redrive',
    description: 'Ends a redrive for good. Jobs that have started go on; the others stay dead.',
  },
] as const

/** Dead jobs on their way round again. */
export function addRedrives(program: Command, io: Io, exit: (code: number) => void): void {
  const redrives = program
    .command('redrives')
    .summary('watch redrives, and pause, resume or abort them')
    .description('Watches redrives, and pauses, resumes or ends them.')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXAMPLES)

  const list = redrives
    .command('list')
    .summary('list redrives, newest first')
    .description('Lists redrives, newest first, with how far each came.')
    .addOption(new Option('--limit <number>', 'how many, up to 200 (default: 50)').argParser(wholeNumber))
    .option('--cursor <text>', 'go on where another page ended')
    .addHelpText('after', LIST_EXAMPLES)
  addBackendOptions(list).action(async options => (await import('./run.js')).listRedrives(options, io))

  const get = redrives
    .command('get')
    .summary('show one redrive, and what became of its jobs')
    .description('Shows one redrive: how far it is, its settings, what was left alone and why it stopped.')
    .argument('<id>', 'of the redrive')
    .option('--follow', 'watch it until it ends')
    .addHelpText('after', GET_EXAMPLES)
  addBackendOptions(get).action(async (id, options) =>
    exit(await (await import('./run.js')).getRedrive(id, options, io)),
  )

  for (const { name, summary, description } of CHANGES) {
    const command = redrives
      .command(name)
      .summary(summary)
      .description(description)
      .argument('<id>', 'of the redrive')
      .addHelpText('after', `\nExamples:\n  $ chronos redrives ${name} ID`)
    addBackendOptions(command).action(async (id, options) =>
      (await import('./run.js')).changeRedrive(name, id, options, io),
    )
  }

  const setRate = redrives
    .command('rate')
    .summary('change how fast a redrive goes')
    .description('Changes how fast a redrive goes, from now on.')
    .argument('<id>', 'of the redrive')
    .argument('<rate>', '20/s, 600/m, or a number per second', rate)
    .addHelpText('after', RATE_EXAMPLES)
  addBackendOptions(setRate).action(async (id, to, options) => (await import('./run.js')).setRate(id, to, options, io))
}
