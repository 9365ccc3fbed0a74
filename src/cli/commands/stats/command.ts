import { acting, type CommandSpec } from '../../command.js'
import { absolute } from '../../output/moment.js'

export const stats: CommandSpec = {
  name: 'stats',
  summary: 'show jobs by state, retries, activity and workers',
  examples: `
chronos stats
chronos stats --json | jq .retrySuccessRate
watch -n 5 chronos stats`,
  run: acting(backend => backend.stats(), {
    text: async (stats, style) => (await import('./run.js')).reportOf(stats, style).trimEnd(),
    note: ({ at }) => `as of ${absolute(at)}`,
  }),
}
