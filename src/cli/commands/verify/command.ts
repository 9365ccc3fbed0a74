import type { CommandSpec } from '../../command.js'

export const verify: CommandSpec = {
  name: 'verify',
  summary: 'check that every enqueued job is accounted for',
  details:
    'At one moment of a live store, each enqueued job of a queue must be waiting, running, ended or removed, and the ' +
    'records of each job must agree.',
  examples: `
chronos verify
chronos verify --store postgres://…
chronos verify --json | jq '.queues[] | select(.isBalanced | not)'`,
  notes: `
The check only reads, and can run beside workers. Exit codes: 0 no job was lost,
8 a job is missing, was inserted outside Chronos, or has inconsistent records.`,
  run: async () => (await import('./run.js')).verifyStore,
}
