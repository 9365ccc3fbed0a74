import type { Command } from 'commander'
import { collect, time, wholeNumber } from '../../argument.js'
import type { CommandSpec } from '../../command.js'

export const enqueue: CommandSpec = {
  name: 'enqueue',
  summary: 'enqueue a job and print its id',
  arguments: [['<name>', 'name of the job']],
  options: command =>
    addJobOptions(command.option('--payload <json>', 'JSON, @FILE with JSON, or - for stdin (default: null)')),
  examples: `
chronos enqueue send-email --payload '{"to": "ada@example.com"}'
chronos enqueue import --payload @order.json --queue slow --delay 15m
chronos enqueue charge --key order:A-17 --retry financial --wait 1m
generate | chronos enqueue report --payload - --json | jq -r .id`,
  notes: `
The store is created if it does not exist. The job runs on a worker that has a
definition with this name. With --wait, exit code 7 means that the job died.`,
  run: async () => (await import('./run.js')).enqueueJob,
}

/** Options of every new job. */
export function addJobOptions(command: Command): Command {
  return command
    .option('--queue <name>', 'queue of the job (default: "default")')
    .option('--priority <number>', '0 to 9, 9 runs first (default: 5)', wholeNumber)
    .option('--delay <duration>', 'start no earlier than this long from now: 30s, 15m, 2h, 7d')
    .option('--run-at <time>', 'start no earlier than this time: 2026-12-24T18:00Z', time)
    .option('--deadline <time>', 'start no later than this time, or this long from now')
    .option('--key <key>', 'idempotency key: the same key gives the same job')
    .option('--unique <value>', 'allow one waiting or running job with this value')
    .option('--tenant <id>', 'tenant of the job')
    .option('--tag <tag>', 'tag of the job; repeatable', collect)
    .option('--at-most-once', 'never run it twice, not even after a crash')
    .option('--timeout <duration>', 'timeout of one attempt')
    .option('--webhook <url>', 'send a signed POST to this URL when the job ends')
    .option('--retry <policy>', 'name of a preset, or a policy as JSON')
    .option('--max-retries <number>', 'maximum number of retries', wholeNumber)
    .option('--max-elapsed <duration>', 'no retry later than this after the first start')
    .option('--depends-on <dependency>', 'dependency with a shared circuit and retry budget')
    .option('--fingerprint <id>', 'error group of its failures')
    .option('--wait [duration]', 'wait until it has ended (at most this long)')
}
