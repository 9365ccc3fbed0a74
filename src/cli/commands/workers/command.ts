import { type CommandSpec, listing } from '../../command.js'

export const workers: CommandSpec = {
  name: 'workers',
  summary: 'list the workers of all machines, newest first',
  examples: `
chronos workers
chronos workers --json | jq '[.data[] | select(.state == "alive")] | length'`,
  notes: `
A worker that stops is removed from the list. A worker that was killed is shown
as silent after three missed heartbeats.`,
  run: listing(async () => (await import('./run.js')).WORKERS),
}
