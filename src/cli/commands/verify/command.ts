import type { Command } from 'commander'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos verify
  $ chronos verify --store postgres://…
  $ chronos verify --json | jq '.queues[] | select(.isBalanced | not)'

The check only reads, and can run beside workers. Exit codes: 0 no job was lost,
8 a job is missing, was inserted outside Chronos, or has inconsistent records.`

export function addVerify(program: Command, io: Io, exit: (code: number) => void): void {
  const verify = program
    .command('verify')
    .summary('check that every enqueued job is accounted for')
    .description(
      'Check that every enqueued job is accounted for: at one moment of a live store, each enqueued job of a queue ' +
        'must be waiting, running, ended or removed, and the records of each job must agree.',
    )
  addBackendOptions(verify)
    .addHelpText('after', EXAMPLES)
    .action(async options => exit(await (await import('./run.js')).verifyStore(options, io)))
}
