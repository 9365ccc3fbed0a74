import type { Command } from 'commander'
import { addStoreOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ chronos backup chronos-2026-11-16.db
  $ chronos backup /backups/chronos.db --force
  $ chronos jobs list --store sqlite:/backups/chronos.db

Workers may go on meanwhile: the copy is what the file was at one moment. It is
read through and audited before it gets its name. To restore it, stop every
process, put it in place of the file, and remove FILE-wal and FILE-shm.`

/** A copy of a live SQLite file that can be trusted. */
export function addBackup(program: Command, io: Io): void {
  const backup = program
    .command('backup')
    .summary('copy a live SQLite file')
    .description('Makes a consistent copy of a live SQLite file, and checks it.')
    .argument('<file>', 'where the copy goes')
    .option('--force', 'replace a file that is there')
    .addHelpText('after', EXAMPLES)
  addStoreOptions(backup).action(async (file, options) => (await import('./run.js')).backUp(file, options, io))
}
