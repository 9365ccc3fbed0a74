import type { CommandSpec } from '../../command.js'

export const doctor: CommandSpec = {
  name: 'doctor',
  summary: 'check the health of a store',
  details:
    'The check reports its schema version, its durability, damage, what slows it down, and jobs that no worker takes.',
  options: command =>
    command.option('--no-integrity', 'skip the integrity check of an SQLite file, which is slow on a large file'),
  common: 'store',
  examples: `
chronos doctor                           ./chronos.db, or CHRONOS_STORE
chronos doctor --store postgres://…
chronos doctor --json | jq '.checks[] | select(.status != "ok")'`,
  notes: `
The check only reads. Exit codes: 0 no problem (there may be warnings),
8 at least one problem, 6 the store is unreachable.`,
  run: async () => (await import('./examine.js')).examine,
}
