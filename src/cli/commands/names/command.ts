import type { Command } from 'commander'
import { pastTime } from '../../argument.js'
import { acting, type CommandSpec, listing } from '../../command.js'
import { type RangeOptions, rangeOf } from './range.js'

const inRange = (command: Command): Command =>
  command
    .option(
      '--from <time>',
      'start: 02:00 (UTC), 2026-12-24T02:00Z or 2h ago (default: an hour before)',
      pastTime('--from'),
    )
    .option('--to <time>', 'end (default: now)', pastTime('--to'))

export const names: CommandSpec = {
  name: 'names',
  summary: 'show the rate, failures and percentiles of job names',
  examples: `
chronos names list --from 24h
chronos names show charge-card`,
  commands: [
    {
      name: 'list',
      summary: 'list the job names that were active in a time range, most runs first',
      options: command =>
        inRange(command)
          .option('--queue <name>', 'only what happened in this queue')
          .option('--find <text>', 'only job names with this text'),
      examples: `
chronos names list
chronos names list --from 24h --queue payments
chronos names list --json | jq '.data[] | select(.runMs.p95 > 1000) | .name'`,
      run: listing(async () => (await import('./run.js')).NAMES),
    },
    {
      name: 'show',
      summary: 'show one job name: percentiles, queues, errors, slowest runs and most retried jobs',
      arguments: [['<name>', 'name of the job']],
      options: inRange,
      examples: `
chronos names show charge-card
chronos names show charge-card --from 02:00 --to 03:00
chronos names show charge-card --json | jq '.points[] | [.at, .runMs.p95]'`,
      run: acting((backend, name: string, options: RangeOptions) => backend.names.get(name, rangeOf(options)), {
        text: async (report, style) => (await import('./run.js')).nameText(report, style).trimEnd(),
      }),
    },
  ],
}
