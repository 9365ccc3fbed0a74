import type { Command } from 'commander'
import { addStoreOptions, type BackendOptions } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'

export interface DoctorOptions extends BackendOptions {
  readonly json?: true
  /** False: a large file is not read through. */
  readonly integrity: boolean
}

const EXAMPLES = `
Examples:
  $ chronos doctor                           ./chronos.db, or CHRONOS_STORE
  $ chronos doctor --store postgres://…      a server
  $ chronos doctor --json | jq '.checks[] | select(.status != "ok")'

Changes nothing. Exit codes: 0 nothing is wrong, or only warnings, 8 there is a
problem, 6 the store can't be reached.`

/** Whether a store is well, what it promises, and what to do where it is not. */
export function addDoctor(program: Command, io: Io, exit: (code: number) => void): void {
  const doctor = program
    .command('doctor')
    .summary('examine a store: what it promises, what slows it down')
    .description(
      'Examines a store: its version, what an acknowledged job survives, whether it is sound, what slows it down, ' +
        'and whether jobs wait that somebody should have taken.',
    )
    .option('--no-integrity', 'do not read an SQLite file through, which takes a while if it is large')
  addStoreOptions(doctor)
    .addHelpText('after', EXAMPLES)
    .action(async (options: DoctorOptions) => {
      const { examine } = await import('./examine.js')
      exit((await examine(options, io)) ? EXIT.ok : EXIT.checkFailed)
    })
}
