import type { CommandSpec } from '../../command.js'

export const top: CommandSpec = {
  name: 'top',
  summary: 'watch queues, failures and workers live',
  options: command =>
    command
      .option('--interval <duration>', 'refresh interval (default: 2s)')
      .option('--once', 'print one frame to stdout and exit'),
  examples: `
chronos top
chronos top --url http://127.0.0.1:4100 --interval 1s
chronos top --once | mail -s jobs ops@example.com`,
  notes: `
Keys: q quits, j and k select a queue, P pauses or resumes it for all workers,
space freezes the picture, + and - make the interval longer or shorter.`,
  run: async () => (await import('./run.js')).showTop,
}
