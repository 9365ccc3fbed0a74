import type { Command } from 'commander'
import { enqueueOptions } from '../../../core/job/options.js'
import type { CommandSpec } from '../../command.js'
import { addFlags } from '../../flags.js'

export const enqueue: CommandSpec = {
  name: 'enqueue',
  summary: 'enqueue a job and print its id',
  arguments: [['<name>', 'name of the job']],
  options: command =>
    addJobOptions(command.option('--payload <json>', 'JSON, @FILE with JSON, or - for stdin (default: null)')),
  examples: `
chronos enqueue send-email --payload '{"to": "ada@example.com"}'
chronos enqueue import --payload @order.json --queue slow --delay 15m
chronos enqueue charge --key order:A-17 --retry financial --wait=1m
generate | chronos enqueue report --payload - --json | jq -r .id`,
  notes: `
The store is created if it does not exist. The job runs on a worker that has a
definition with this name. With --wait, exit code 7 means that the job died or
was cancelled, and 1 that the time is over; then the job goes on.`,
  run: async () => (await import('./run.js')).enqueueJob,
}

/** Options of every new job. */
export function addJobOptions(command: Command): Command {
  return addFlags(command, enqueueOptions.fields)
    .option('--at-most-once', 'never run it twice, not even after a crash')
    .option('--wait [duration]', 'wait until it has ended (at most this long)')
}
