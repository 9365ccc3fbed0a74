import type { CommandSpec } from '../../command.js'

export const stats: CommandSpec = {
  name: 'stats',
  summary: 'show jobs by state, retries, activity and workers',
  examples: `
chronos stats
chronos stats --json | jq .retrySuccessRate
watch -n 5 chronos stats`,
  run: async () => (await import('./run.js')).showStats,
}
