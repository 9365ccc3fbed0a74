import { Argument, type Command } from 'commander'
import { addStoreOptions, type BackendOptions } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'

export interface MigrateOptions extends BackendOptions {
  readonly json?: true
}

const EXAMPLES = `
Examples:
  $ chronos migrate                        make ./chronos.db, or update it
  $ chronos migrate --store postgres://…   the same in a database
  $ chronos migrate status                 tell whether it is needed

Safe to repeat, and from many processes at once. A store of a newer version is
left alone. Exit codes of status, which changes nothing: 0 up to date, 8 a
migration is needed, 6 the store is newer than this chronos, or out of reach.`

/** Makes the tables of a store, or brings them up to date. */
export function addMigrate(program: Command, io: Io, exit: (code: number) => void): void {
  const migrate = program
    .command('migrate')
    .summary('make the tables of a store, or bring them up to date')
    .description('Makes the tables of a store, or brings them up to date. Workers do the same when they start.')
    .addArgument(new Argument('[status]', 'only tell whether it is needed').choices(['status']))
  addStoreOptions(migrate)
    .addHelpText('after', EXAMPLES)
    .action(async (status: 'status' | undefined, options: MigrateOptions) => {
      const { migrateStore, showStatus } = await import('./run.js')
      if (status === undefined) return migrateStore(options, io)
      exit((await showStatus(options, io)) ? EXIT.ok : EXIT.checkFailed)
    })
}
