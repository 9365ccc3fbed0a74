import type { CommandSpec } from '../../command.js'

const NAME = ['<name>', 'name of the queue'] as const

export const queues: CommandSpec = {
  name: 'queues',
  summary: 'list and pause queues, and change their retry policy',
  examples: `
chronos queues list
chronos queues pause payments
chronos queues set payments --retry financial
chronos queues set payments --retry '{"maxRetries": 8}'`,
  commands: [
    {
      name: 'list',
      summary: 'list queues with their job counts, by name',
      examples: `
chronos queues list
chronos queues list --json | jq '.data[] | select(.paused) | .name'`,
      run: async () => (await import('./run.js')).listQueues,
    },
    {
      name: 'set',
      summary: 'override the retry policy of a queue',
      details:
        'The override replaces what the code says about the queue. Running workers apply it within seconds. A job keeps ' +
        'its own policy, or the policy of its definition, if it has one.',
      arguments: [NAME],
      options: command =>
        command
          .option('--retry <policy>', 'name of a preset, or a policy as JSON')
          .option('--reset', "remove the queue's policy override"),
      examples: `
chronos queues set payments --retry financial
chronos queues set payments --retry '{"maxRetries": 8}'
chronos queues set payments --reset`,
      run: async () => (await import('./run.js')).setQueue,
    },
    {
      name: 'pause',
      summary: 'pause a queue',
      details: 'Running jobs continue, and jobs can still be enqueued; no job starts until the queue is resumed.',
      arguments: [NAME],
      examples: `
chronos queues pause payments
chronos queues resume payments`,
      run: async () => (await import('./run.js')).pauseQueue,
    },
    {
      name: 'resume',
      summary: 'resume a paused queue',
      arguments: [NAME],
      examples: 'chronos queues resume payments',
      run: async () => (await import('./run.js')).resumeQueue,
    },
  ],
}
