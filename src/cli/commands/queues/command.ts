import type { QueueRecord } from '../../../store/store.js'
import { addPageOptions } from '../../argument.js'
import { acting, type CommandSpec, listing } from '../../command.js'
import type { Style } from '../../output/print.js'
import { oneLine } from '../../output/width.js'

const NAME = ['<name>', 'name of the queue'] as const

const line = async (queue: QueueRecord, style: Style): Promise<string> =>
  (await import('./run.js')).queueLine(queue, style)

export const queues: CommandSpec = {
  name: 'queues',
  summary: 'list, pause and delete queues, and change their retry policy and limits',
  examples: `
chronos queues list
chronos queues pause payments
chronos queues set payments --retry financial
chronos queues set payments --retry '{"maxRetries": 8}'`,
  commands: [
    {
      name: 'list',
      summary: 'list queues with their job counts, by name',
      options: command => addPageOptions(command).option('--find <text>', 'only queues with this text in their name'),
      examples: `
chronos queues list
chronos queues list --find payments
chronos queues list --json | jq '.data[] | select(.paused) | .name'`,
      run: listing(async () => (await import('./run.js')).QUEUES),
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
      name: 'limits',
      summary: 'show or set the limits of a queue and its partitions',
      details:
        'A setting is a list such as concurrency=40,rate=500/m,burst=20, JSON, or none for what the code says; ' +
        '--partitions also takes order=fifo, onDead=stop, learn and fair. Limits apply to the jobs that start afterwards.',
      arguments: [NAME],
      options: command =>
        addPageOptions(command)
          .option('--stopped', 'only partitions that a dead letter stops')
          .option('--queue <settings>', 'limits of the whole queue')
          .option('--partitions <settings>', 'limits of each partition')
          .option('--clear', 'remove both, so that those of the code apply again'),
      examples: `
chronos queues limits crm
chronos queues limits crm --queue concurrency=40 --partitions concurrency=2
chronos queues limits ai --partitions rate=500/m,learn
chronos queues limits ai --partitions '{"units": {"tokens": "90000/m"}}'
chronos queues limits feed --stopped
chronos queues limits crm --clear`,
      run: async () => (await import('./limits.js')).queueLimits,
    },
    {
      name: 'pause',
      summary: 'pause a queue',
      details: 'Running jobs continue, and jobs can still be enqueued; no job starts until the queue is resumed.',
      arguments: [NAME],
      examples: `
chronos queues pause payments
chronos queues resume payments`,
      run: acting(({ queues }, name: string) => queues.pause(name), { text: line }),
    },
    {
      name: 'resume',
      summary: 'resume a paused queue',
      arguments: [NAME],
      examples: 'chronos queues resume payments',
      run: acting(({ queues }, name: string) => queues.resume(name), { text: line }),
    },
    {
      name: 'delete',
      summary: 'delete a queue that has no jobs, with its settings',
      details: 'Chronos itself deletes a queue without settings seven days after its last job was removed.',
      arguments: [NAME],
      examples: 'chronos queues delete payments',
      run: acting(({ queues }, name: string) => queues.delete(name).then(() => ({ name })), {
        text: ({ name }) => `queue ${oneLine(name)} is deleted`,
      }),
    },
  ],
}
