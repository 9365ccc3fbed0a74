import type { Command } from 'commander'
import { collect, wholeNumber } from '../../argument.js'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos schedules next '30 2 * * *' --tz Europe/Paris
  $ chronos schedules put digest --cron '0 9 * * MON' --job send-digest
  $ chronos schedules put ping --every 30s --call https://api.example.com/ping
  $ chronos schedules list
  $ chronos schedules pause digest`

const PUT_EXAMPLES = `
Examples:
  $ chronos schedules put digest --cron '0 9 * * MON' --job send-digest
  $ chronos schedules put ping --every 30s --call https://api.example.com/ping
  $ chronos schedules put import --cron '0 * * * *' --job import --missed all:24
  $ chronos schedules put party --cron '0 18 24 12 *' --once --job greet

The same again changes nothing. Ticks become jobs while a worker runs somewhere.`

const LIST_EXAMPLES = `
Examples:
  $ chronos schedules list
  $ chronos schedules list --json | jq '.data[] | {id, nextOccurrenceAt}'`

const NEXT_EXAMPLES = `
Examples:
  $ chronos schedules next '*/10 * * * * *' --count 3
  $ chronos schedules next '30 2 * * *' --tz Europe/Paris --from 2026-03-28
  $ chronos schedules next 90s

Five fields (minute hour day month weekday), or six with seconds first. A time
of day that the clocks leave out comes at the first moment after the gap, and
one that they show twice counts the first time.`

/** Jobs that come again and again. */
export function addSchedules(program: Command, io: Io): void {
  const schedules = program
    .command('schedules')
    .summary('jobs that come again and again')
    .description(
      'Looks at schedules, makes and changes them, pauses, resumes and runs them, and tells when ticks fall.',
    )
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXAMPLES)

  const list = schedules
    .command('list')
    .summary('list the schedules')
    .description('Lists the schedules, by id.')
    .option('--limit <number>', 'at most so many (default: 50)', wholeNumber)
    .option('--cursor <cursor>', 'go on where a list ended')
    .addHelpText('after', LIST_EXAMPLES)
  addBackendOptions(list).action(async options => (await import('./run.js')).listSchedules(options, io))

  addPut(schedules, io)

  for (const [verb, summary, description] of VERBS) {
    const command = schedules
      .command(verb)
      .summary(summary)
      .description(description)
      .argument('<id>', 'of the schedule')
      .addHelpText('after', `\nExamples:\n  $ chronos schedules ${verb} digest`)
    addBackendOptions(command).action(async (id, options) => (await import('./run.js')).actOn(verb, id, options, io))
  }

  schedules
    .command('next')
    .summary('tell when an expression ticks')
    .description('Tells when a cron expression or an interval ticks next, and what changes of the clock do to it.')
    .argument('<expression>', "cron such as '0 9 * * MON', or an interval such as 90s")
    .option('--tz <zone>', 'time zone: Europe/Paris (default: UTC)')
    .option('--count <number>', 'how many (default: 10)', wholeNumber)
    .option('--from <time>', 'after this time (default: now)')
    .option('--json', 'JSON on stdout, with the same fields as in TypeScript')
    .addHelpText('after', NEXT_EXAMPLES)
    .action(async (expression, options) => (await import('./next.js')).showNext(expression, options, io))
}

const VERBS = [
  ['pause', 'make no more jobs', 'Lets a schedule make no more jobs. Those that there are go on.'],
  [
    'resume',
    'go on with the next tick',
    'Lets a paused schedule go on with its next tick; those of the pause are over.',
  ],
  [
    'run',
    'make one job now',
    "Makes one job of the schedule now, whatever its ticks say. The job's id goes to stdout.",
  ],
  ['delete', 'remove a schedule', 'Removes a schedule. The jobs that it made stay, and go on.'],
] as const

function addPut(schedules: Command, io: Io): void {
  const put = schedules
    .command('put')
    .summary('make or change a schedule')
    .description('Makes a schedule, or changes it, without firing twice.')
    .argument('<id>', 'of the schedule')
    .option('--cron <expression>', 'when: five fields, or six with seconds first')
    .option('--every <duration>', 'or at intervals: 30s, 15m, 2h')
    .option('--tz <zone>', 'time zone that cron is read in: Europe/Paris (default: UTC)')
    .option('--job <name>', 'the job to make, by its name')
    .option('--payload <json>', 'JSON, @FILE with JSON, or - for stdin (default: null)')
    .option('--call <url>', 'or an address to call')
    .option('--method <method>', 'how to call it (default: POST)')
    .option('--overlap <rule>', 'while an earlier job is not over: skip, queue or allow (default: skip)')
    .option('--missed <rule>', 'ticks that nobody was there for: run-once, skip or all:N (default: run-once)')
    .option('--splay <duration>', 'start jobs up to so much later, by a part of its own')
    .option('--once', 'one job, and the schedule has ended')
    .option('--start-at <time>', 'no tick before this')
    .option('--end-at <time>', 'no tick after this')
    .option('--queue <name>', "default: the job's own")
    .option('--priority <number>', '0 to 9, 9 runs first', wholeNumber)
    .option('--retry <policy>', "a preset's name, or a policy as JSON")
    .option('--timeout <duration>', 'for one attempt')
    .option('--at-most-once', 'never run a job twice, not even after a crash')
    .option('--tenant <id>', 'whose jobs they are')
    .option('--tag <tag>', 'may be given several times', collect)
    .option('--if-version <number>', 'only if it still has this version; 0: only if there is none', wholeNumber)
    .addHelpText('after', PUT_EXAMPLES)
  addBackendOptions(put).action(async (id, options) => (await import('./put.js')).putSchedule(id, options, io))
}
