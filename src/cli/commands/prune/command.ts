import type { CommandSpec } from '../../command.js'

export const prune: CommandSpec = {
  name: 'prune',
  summary: 'delete jobs that ended long ago, with their history',
  options: command =>
    command
      .option('--succeeded <age>', 'jobs that succeeded at least this long ago: 12h, 7d')
      .option('--cancelled <age>', 'jobs that were cancelled at least this long ago')
      .option('--dead <age>', 'jobs that died at least this long ago')
      .option('--dry-run', 'only count the jobs')
      .option('--yes', 'confirm: nothing is deleted without it'),
  common: 'store',
  examples: `
chronos prune --succeeded 7d --dry-run
chronos prune --succeeded 7d --cancelled 30d --dead 90d --yes
chronos prune --yes                    with the ages in your configuration`,
  notes: `
Waiting and running jobs are never deleted. Idempotency keys are kept for one
more day. Workers prune automatically if \`retention\` is configured.`,
  run: async () => (await import('./run.js')).pruneStore,
}
