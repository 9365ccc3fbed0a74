import type { Command } from 'commander'
import { addPageOptions, collect, time, wholeNumber } from '../../argument.js'
import type { CommandSpec } from '../../command.js'
import type { Io } from '../../io.js'
import type { ActionName, ActionOptions } from './action.js'
import { addFilterOptions } from './filter.js'

const ID = ['<id>', 'id of the job or schedule'] as const

const reading: readonly CommandSpec[] = [
  {
    name: 'list',
    summary: 'list jobs, newest first',
    details: 'Jobs of Chronos itself, such as webhook deliveries, are left out.',
    options: command =>
      addFilterOptions(
        addPageOptions(command).option('--internal', 'include webhook deliveries and other internal jobs'),
      ),
    examples: `
chronos jobs list --state dead --queue payments
chronos jobs list --phase retrying --created-after 2h
chronos jobs list --tag import --json | jq -r '.data[].id'`,
    run: async () => (await import('./list.js')).listJobs,
  },
  {
    name: 'get',
    summary: 'show one job with its payload, last error and last attempts',
    arguments: [ID],
    options: command => command.option('--stack', 'show the stack trace of the last error'),
    examples: `
chronos jobs get ID
chronos jobs get ID --stack
chronos jobs get ID --json | jq .payload`,
    run: async () => (await import('./get.js')).getJob,
  },
  {
    name: 'history',
    summary: 'list the runs of a job with their outcomes, newest first',
    arguments: [ID],
    options: command => addPageOptions(command).option('--order <order>', 'newest (default) or oldest run first'),
    examples: `
chronos jobs history ID --limit 10
chronos jobs history ID --order oldest
chronos jobs history ID --json | jq '.data[] | {label, status, delayMs}'`,
    run: async () => (await import('./history.js')).showHistory,
  },
  {
    name: 'timeline',
    summary: 'draw the runs and waits of a job on a time axis',
    details: 'The axis also shows coming retries. A wait that is much longer than the rest is cut short and marked.',
    arguments: [ID],
    options: command => command.option('--limit <number>', 'number of runs, newest first (default: 20)', wholeNumber),
    examples: `
chronos jobs timeline ID
chronos jobs timeline ID --limit 5`,
    run: async () => (await import('./timeline.js')).showTimeline,
  },
  {
    name: 'explain',
    summary: 'explain why a job waits, was retried or died, and what comes next',
    arguments: [ID],
    examples: `
chronos jobs explain ID
chronos jobs explain ID --json | jq -r .summary`,
    run: async () => (await import('./explain.js')).explainJob,
  },
  {
    name: 'logs',
    summary: 'show the log lines of a job (job.log), oldest first',
    arguments: [ID],
    options: addPageOptions,
    examples: `
chronos jobs logs ID
chronos jobs logs ID --json | jq -r '.data[].message'`,
    run: async () => (await import('./history.js')).showLogs,
  },
  {
    name: 'follow',
    summary: 'print what happens to a job until it has ended',
    details: 'Prints the end of each run, log lines and progress, from its enqueue on, in whichever process it runs.',
    arguments: [['<id>', 'id of the job']],
    options: command =>
      command.option('--cursor <cursor>', 'continue after the update with this cursor (--json shows it)'),
    examples: `
chronos jobs follow ID
chronos jobs follow "$(chronos enqueue import)"
chronos jobs follow ID --json | jq -r 'select(.type == "log").line.message'`,
    notes: `
With --json, each update is one line. Exit code 0 means that the job succeeded,
and 7 that it died or was cancelled.`,
    run: async () => (await import('./follow.js')).followJob,
  },
]

const edit: CommandSpec = {
  name: 'edit',
  summary: 'change a waiting job, or a schedule with its waiting job',
  details: 'Options that are not given stay as they are. The changes are checked like a new job.',
  arguments: [ID],
  options: command =>
    command
      .option('--payload <json>', 'JSON, @FILE with JSON, or - for stdin')
      .option('--queue <name>', 'move it to this queue')
      .option('--priority <number>', '0 to 9, 9 runs first', wholeNumber)
      .option('--tag <tag>', 'replace its tags; repeatable', collect)
      .option('--delay <duration>', 'start this long from now: 30s, 15m, 2h, 7d')
      .option('--run-at <time>', 'start at this time: 2026-12-24T18:00Z', time)
      .option('--timeout <duration>', 'timeout of one attempt')
      .option('--deadline <time>', 'start no later than this time, or this long from now')
      .option('--retry <policy>', 'name of a preset, or a policy as JSON')
      .option('--cron <expression>', 'new times of a schedule')
      .option('--call <url>', 'new URL of a schedule')
      .option('--if-version <version>', 'only if it has not changed since (the ETag of the API)'),
  examples: `
chronos jobs edit ID --payload '{"to": "ada@example.com"}'
chronos jobs edit ID --queue slow --priority 2
chronos jobs edit ID --retry '{"maxRetries": 8}' --delay 10m
chronos jobs edit ID --retry none --deadline none
chronos jobs edit SCHEDULE --cron '*/30 * * * * *'`,
  notes: '`none` removes a value that was set for this job.',
  run: async () => (await import('./edit.js')).editJob,
}

const replay: CommandSpec = {
  name: 'replay',
  summary: 'enqueue a copy of a job and print its id',
  details: 'The copy has the payload and the options of the job, which is not changed.',
  arguments: [ID],
  examples: `
chronos jobs replay ID
chronos jobs timeline "$(chronos jobs replay ID)"`,
  run: async () => (await import('../enqueue/run.js')).replayJob,
}

interface ActionSpec extends Pick<CommandSpec, 'summary' | 'details' | 'examples' | 'options'> {
  readonly name: ActionName
  /** The help of `--all`. */
  readonly all: string
}

const ACTIONS: readonly ActionSpec[] = [
  {
    name: 'retry',
    summary: 'retry dead jobs',
    details:
      'Dead or cancelled jobs start again with all their attempts and the same id, key and history. A filter selects ' +
      'dead jobs unless it has a --state.',
    all: 'all dead jobs',
    examples: `
chronos jobs retry ID
chronos jobs retry --queue payments --reason exhausted --dry-run
chronos jobs retry --queue payments --reason exhausted --yes`,
  },
  {
    name: 'run-now',
    summary: 'run waiting jobs now',
    details: 'Their attempts are not reset.',
    all: 'all waiting jobs',
    examples: `
chronos jobs run-now ID
chronos jobs run-now --phase retrying --name send-email --yes`,
  },
  {
    name: 'reschedule',
    summary: 'move waiting jobs to another time',
    all: 'all waiting jobs',
    options: command =>
      command
        .option('--delay <duration>', 'start this long from now: 30s, 15m, 2h, 7d')
        .option('--run-at <time>', 'start at this time: 2026-12-24T18:00Z', time),
    examples: `
chronos jobs reschedule ID --delay 15m
chronos jobs reschedule ID --run-at 2026-12-24T18:00Z
chronos jobs reschedule --queue reports --delay 2h --yes`,
  },
  {
    name: 'cancel',
    summary: 'cancel jobs and keep their records',
    details: 'A waiting job ends at once. A running job is signalled to stop, and ends when its handler returns.',
    all: 'all waiting and running jobs',
    examples: `
chronos jobs cancel ID ID
chronos jobs cancel --name import --tenant acme --yes`,
  },
  {
    name: 'delete',
    summary: 'delete the records of jobs, with their history',
    details: 'A running job must be cancelled first. A filter selects ended jobs unless it has a --state.',
    all: 'all ended jobs',
    examples: `
chronos jobs delete ID
chronos jobs delete --state succeeded --created-before 30d --dry-run
chronos jobs delete --state succeeded --created-before 30d --yes`,
  },
]

type Given = [ids: readonly string[], options: ActionOptions, io: Io]

const actionCommand = ({ all, options, ...spec }: ActionSpec): CommandSpec => ({
  ...spec,
  arguments: [['[ids...]', 'ids of jobs or schedules']],
  options: command => addConfirmation(addFilterOptions(options?.(command) ?? command), all),
  run: async () => {
    const { perform } = await import('./action.js')
    return (...given: Given) => perform(spec.name, ...given)
  },
})

/** Options of a command that acts on ids or on the jobs that a filter selects. */
export function addConfirmation(command: Command, all: string): Command {
  return command
    .option('--all', all)
    .option('--dry-run', 'only count the jobs, and show some of them')
    .option('--yes', 'confirm: jobs selected by a filter are not changed without it')
    .option('--at-most <number>', 'change nothing if more jobs match: the number that you confirm', wholeNumber)
}

export const jobs: CommandSpec = {
  name: 'jobs',
  summary: 'list, inspect, retry, cancel and change jobs',
  examples: `
chronos jobs list --state dead           jobs that need attention
chronos jobs get ID                      one job with its attempts
chronos jobs timeline ID                 its runs and waits on a time axis
chronos jobs explain ID                  why it waits, or died
chronos jobs retry ID                    start a dead job again`,
  notes: 'The id of a schedule works too, and stands for it and its current job.',
  commands: [...reading, ...ACTIONS.map(actionCommand), edit, replay],
}
