import { scheduleOptions } from '../../../core/schedule/options.js'
import { addPageOptions, wholeNumber } from '../../argument.js'
import { acting, type CommandSpec, listing } from '../../command.js'
import { addFlags } from '../../flags.js'
import { oneLine } from '../../output/width.js'
import { scheduleLine } from './line.js'

const ID = ['<id>', 'id of the schedule'] as const

const put: CommandSpec = {
  name: 'put',
  summary: 'create or change a schedule',
  details: 'Changing a schedule never runs an occurrence twice. Putting the same schedule again changes nothing.',
  arguments: [ID],
  options: command =>
    addFlags(command, scheduleOptions.fields)
      .option('--payload <json>', 'JSON, @FILE with JSON, or - for stdin (default: null)')
      .option('--call <url>', 'URL to call instead of a job')
      .option('--method <method>', 'HTTP method of the call (default: POST)')
      .option('--missed <rule>', 'occurrences missed while down: run-once, skip or all:N (default: run-once)')
      .option('--once', 'enqueue one job, then end the schedule')
      .option('--at-most-once', 'never run a job twice, not even after a crash')
      .option('--if-version <number>', 'only if this is its version; 0: only if it does not exist', wholeNumber),
  examples: `
chronos schedules put digest --cron '0 9 * * MON' --job send-digest
chronos schedules put ping --every 30s --call https://api.example.com/ping
chronos schedules put import --cron '0 * * * *' --job import --missed all:24
chronos schedules put party --cron '0 18 24 12 *' --once --job greet`,
  notes: 'Jobs are enqueued while at least one worker or server runs.',
  run: async () => (await import('./put.js')).putSchedule,
}

const changing: readonly CommandSpec[] = [
  {
    name: 'pause',
    summary: 'pause a schedule',
    details: 'No more jobs are enqueued; jobs that were enqueued before continue.',
    arguments: [ID],
    examples: 'chronos schedules pause digest',
    run: acting(({ schedules }, id: string) => schedules.pause(id), { text: scheduleLine }),
  },
  {
    name: 'resume',
    summary: 'resume a paused schedule',
    details: 'It continues with the next occurrence. Occurrences during the pause are skipped.',
    arguments: [ID],
    examples: 'chronos schedules resume digest',
    run: acting(({ schedules }, id: string) => schedules.resume(id), { text: scheduleLine }),
  },
  {
    name: 'run',
    summary: 'enqueue one job of a schedule now and print its id',
    arguments: [ID],
    examples: 'chronos schedules run digest',
    run: acting(({ schedules }, id: string) => schedules.run(id), { text: job => job.id }),
  },
  {
    name: 'delete',
    summary: 'delete a schedule',
    details: 'Jobs that it has enqueued continue.',
    arguments: [ID],
    examples: 'chronos schedules delete digest',
    run: acting(({ schedules }, id: string) => schedules.delete(id).then(() => ({ id })), {
      text: ({ id }) => `schedule ${oneLine(id)} is deleted; its jobs continue`,
    }),
  },
]

const next: CommandSpec = {
  name: 'next',
  summary: 'show the next occurrences of a cron expression or interval',
  arguments: [['<expression>', "cron such as '0 9 * * MON', or an interval such as 90s"]],
  options: command =>
    command
      .option('--tz <zone>', 'time zone: Europe/Paris (default: UTC)')
      .option('--count <number>', 'number of occurrences (default: 10)', wholeNumber)
      .option('--from <time>', 'start after this time (default: now)')
      .option('--json', 'print JSON, with the same fields as in TypeScript'),
  common: 'none',
  examples: `
chronos schedules next '*/10 * * * * *' --count 3
chronos schedules next '30 2 * * *' --tz Europe/Paris --from 2026-03-28
chronos schedules next 90s`,
  notes: `
Five fields (minute hour day month weekday), or six with seconds first. If the
clocks skip a time of day, the occurrence is at the first moment after the gap;
if they show it twice, it is at the first one.`,
  run: async () => (await import('./next.js')).showNext,
}

export const schedules: CommandSpec = {
  name: 'schedules',
  summary: 'manage recurring jobs',
  examples: `
chronos schedules put digest --cron '0 9 * * MON' --job send-digest
chronos schedules put ping --every 30s --call https://api.example.com/ping
chronos schedules list
chronos schedules pause digest`,
  commands: [
    {
      name: 'list',
      summary: 'list schedules, by id',
      options: addPageOptions,
      examples: `
chronos schedules list
chronos schedules list --json | jq '.data[] | {id, nextOccurrenceAt}'`,
      run: listing(async () => (await import('./run.js')).SCHEDULES),
    },
    put,
    ...changing,
    next,
  ],
}
