import { type Command, Option } from 'commander'
import { collect, wholeNumber } from '../../argument.js'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos enqueue send-email --payload '{"to": "ada@example.com"}'
  $ chronos enqueue import --payload @order.json --queue slow --delay 15m
  $ chronos enqueue charge --key order:A-17 --retry financial --wait 1m
  $ generate | chronos enqueue report --payload - --json | jq -r .id

The id goes to stdout. The store is made where there is none. A job runs when a
worker knows its name; with --wait, exit code 7 says that it died.`

/** A new job, from a shell. */
export function addEnqueue(program: Command, io: Io, exit: (code: number) => void): void {
  const enqueue = program
    .command('enqueue')
    .summary('add a job')
    .description('Adds a job, by the name that workers know it by.')
    .argument('<name>', 'of the job')
    .option('--payload <json>', 'JSON, @FILE with JSON, or - for stdin (default: null)')
  addBackendOptions(addJobOptions(enqueue))
    .addHelpText('after', EXAMPLES)
    .action(async (name, options) => {
      const { enqueueJob } = await import('./run.js')
      exit(await enqueueJob(name, options, io))
    })
}

/** What can be said about any new job. */
export function addJobOptions(command: Command): Command {
  return command
    .option('--queue <name>', 'default: default')
    .addOption(new Option('--priority <number>', '0 to 9, 9 runs first (default: 5)').argParser(wholeNumber))
    .option('--delay <duration>', 'not before so long from now: 30s, 15m, 2h, 7d')
    .option('--run-at <time>', 'not before this time: 2026-12-24T18:00Z')
    .option('--deadline <time>', 'not started after this time, or so long from now')
    .option('--key <key>', 'the same key gives the same job, once')
    .option('--unique <value>', 'one waiting or running job of this value')
    .option('--tenant <id>', 'whose job it is')
    .option('--tag <tag>', 'may be given several times', collect)
    .option('--at-most-once', 'never run twice, not even after a crash')
    .option('--timeout <duration>', 'for one attempt')
    .option('--webhook <url>', 'gets a signed POST when the job ends')
    .option('--retry <policy>', "a preset's name, or a policy as JSON")
    .option('--max-retries <number>', 'how often at most', wholeNumber)
    .option('--max-elapsed <duration>', 'no retry later than this after the first start')
    .option('--depends-on <dependency>', 'what it needs to be up: a shared circuit and budget')
    .option('--fingerprint <id>', 'the error group of its failures')
    .option('--wait [duration]', 'wait until it has ended (for at most so long)')
}
