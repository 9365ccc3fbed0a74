import type { Command } from 'commander'
import { addBackendOptions } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos audit
  $ chronos audit --store postgres://…
  $ chronos audit --json | jq '.queues[] | select(.isBalanced | not)'

Changes nothing, and may run beside workers. Exit codes: 0 nothing was lost,
8 something is missing, was put in by hand or contradicts itself.`

/** Whether every job that was ever enqueued is accounted for. */
export function addAudit(program: Command, io: Io, exit: (code: number) => void): void {
  const audit = program
    .command('audit')
    .summary('prove that no job was lost')
    .description(
      'Proves that no job was lost: for every queue, at one moment of a live store, what was enqueued must be what waits, ' +
        'runs, has ended or was removed; and the records of each job must agree.',
    )
  addBackendOptions(audit)
    .addHelpText('after', EXAMPLES)
    .action(async options => {
      const { auditStore } = await import('./run.js')
      exit((await auditStore(options, io)) ? EXIT.ok : EXIT.checkFailed)
    })
}
