import type { ActionName } from './action.js'

interface Words {
  readonly summary: string
  readonly description: string
  readonly examples: string
}

export interface ActionWords extends Words {
  readonly name: ActionName
  /** What `--all` means here. */
  readonly all: string
}

export const JOBS_EXAMPLES = `
Examples:
  $ chronos jobs list --state dead           what needs somebody
  $ chronos jobs get ID                      one job, with its attempts
  $ chronos jobs timeline ID                 its life, drawn
  $ chronos jobs explain ID                  why it waits, or died
  $ chronos jobs retry ID                    a dead job starts again`

export const READ_WORDS = {
  list: {
    summary: 'list jobs, newest first',
    description: 'Lists jobs, newest first.',
    examples: `
Examples:
  $ chronos jobs list --state dead --queue payments
  $ chronos jobs list --phase retrying --created-after 2h
  $ chronos jobs list --tag import --json | jq -r '.data[].id'`,
  },
  get: {
    summary: 'show one job with its last attempts',
    description: 'Shows one job: where it stands, what it carries, its last error and its last ten attempts.',
    examples: `
Examples:
  $ chronos jobs get ID
  $ chronos jobs get ID --stack
  $ chronos jobs get ID --json | jq .payload`,
  },
  history: {
    summary: 'list the attempts of a job, newest first',
    description: 'Lists the runs of a job, newest first: how each ended, and what was decided then.',
    examples: `
Examples:
  $ chronos jobs history ID --limit 10
  $ chronos jobs history ID --json | jq '.data[] | {label, status, delayMs}'`,
  },
  timeline: {
    summary: 'draw the life of a job',
    description:
      'Draws the life of a job on an axis of time: its runs, its waits and what they were for, and what is to come. ' +
      'A wait much longer than all the rest is cut short, and marked.',
    examples: `
Examples:
  $ chronos jobs timeline ID
  $ chronos jobs timeline ID --limit 5       its last five runs`,
  },
  explain: {
    summary: 'tell why a job waits, or why it was or was not retried',
    description:
      'Tells in plain words why a job is where it is, what was decided after its last run, and what comes next.',
    examples: `
Examples:
  $ chronos jobs explain ID
  $ chronos jobs explain ID --json | jq -r .summary`,
  },
  logs: {
    summary: 'show what the handlers of a job have logged',
    description: 'Shows what the handlers of a job have said with job.log, oldest first.',
    examples: `
Examples:
  $ chronos jobs logs ID
  $ chronos jobs logs ID --json | jq -r '.data[].message'`,
  },
  edit: {
    summary: 'change a waiting job',
    description:
      'Changes what a waiting job carries and how it is run; what you leave out stays. It is checked as a new job is.',
    examples: `
Examples:
  $ chronos jobs edit ID --payload '{"to": "ada@example.com"}'
  $ chronos jobs edit ID --queue slow --priority 2
  $ chronos jobs edit ID --retry '{"maxRetries": 8}' --delay 10m
  $ chronos jobs edit ID --retry none --deadline none

\`none\` takes away what was set for this job alone.`,
  },
  replay: {
    summary: 'make a new job from the payload of another',
    description:
      'Makes a new job with the payload and the options of another, which stays as it is. The new id goes to stdout.',
    examples: `
Examples:
  $ chronos jobs replay ID
  $ chronos jobs timeline "$(chronos jobs replay ID)"`,
  },
} as const satisfies Record<string, Words>

export const ACTION_WORDS: readonly ActionWords[] = [
  {
    name: 'retry',
    summary: 'start dead jobs again',
    description:
      'Starts dead or cancelled jobs again, with all their attempts and the same id, key and history. ' +
      'A filter means the dead ones, unless it has a --state.',
    all: 'all dead jobs',
    examples: `
Examples:
  $ chronos jobs retry ID
  $ chronos jobs retry --queue payments --reason exhausted --dry-run
  $ chronos jobs retry --queue payments --reason exhausted --yes`,
  },
  {
    name: 'run-now',
    summary: 'skip the wait of waiting jobs',
    description: 'Makes waiting jobs due at once. Their attempts keep counting where they were.',
    all: 'all waiting jobs',
    examples: `
Examples:
  $ chronos jobs run-now ID
  $ chronos jobs run-now --phase retrying --name send-email --yes`,
  },
  {
    name: 'reschedule',
    summary: 'move waiting jobs to another time',
    description: 'Moves waiting jobs to another time.',
    all: 'all waiting jobs',
    examples: `
Examples:
  $ chronos jobs reschedule ID --delay 15m
  $ chronos jobs reschedule ID --run-at 2026-12-24T18:00Z
  $ chronos jobs reschedule --queue reports --delay 2h --yes`,
  },
  {
    name: 'cancel',
    summary: 'stop jobs and keep their records',
    description:
      'Stops jobs and keeps their records. A waiting job ends at once; a running one is asked to stop, and ends when it does.',
    all: 'all waiting and running jobs',
    examples: `
Examples:
  $ chronos jobs cancel ID ID
  $ chronos jobs cancel --name import --tenant acme --yes`,
  },
  {
    name: 'delete',
    summary: 'remove the records of jobs',
    description:
      'Removes the records of jobs with their history. A running job is never removed: cancel it first. ' +
      'A filter means jobs that have ended, unless it has a --state.',
    all: 'all jobs that have ended',
    examples: `
Examples:
  $ chronos jobs delete ID
  $ chronos jobs delete --state succeeded --created-before 30d --dry-run
  $ chronos jobs delete --state succeeded --created-before 30d --yes`,
  },
]
