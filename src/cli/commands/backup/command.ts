import type { CommandSpec } from '../../command.js'

export const backup: CommandSpec = {
  name: 'backup',
  summary: 'copy a live SQLite file and verify the copy',
  arguments: [['<file>', 'path of the copy']],
  options: command => command.option('--force', 'replace an existing file'),
  common: 'store',
  examples: `
chronos backup chronos-2026-11-16.db
chronos backup /backups/chronos.db --force
chronos jobs list --store sqlite:/backups/chronos.db`,
  notes: `
Workers can run meanwhile: the copy is a snapshot of one moment. It is verified
before it replaces a file. To restore it, stop every process, move it to the
path of the store, and delete FILE-wal and FILE-shm.`,
  run: async () => (await import('./run.js')).backUp,
}
