import { Argument } from 'commander'
import type { CommandSpec } from '../../command.js'

export const migrate: CommandSpec = {
  name: 'migrate',
  summary: 'create the tables of a store, or upgrade them',
  details: 'Workers do the same when they start.',
  arguments: [new Argument('[status]', 'only report whether a migration is needed').choices(['status'])],
  common: 'store',
  examples: `
chronos migrate                        create or upgrade ./chronos.db
chronos migrate --store postgres://…
chronos migrate status                 report whether it is needed`,
  notes: `
Safe to repeat, and to run from many processes at once. A store with a newer
schema is not changed. Exit codes of status, which only reads: 0 up to date,
8 a migration is needed, 6 the store is newer than this chronos or unreachable.`,
  run: async () => (await import('./run.js')).migrate,
}
