import type { CommandSpec } from '../../command.js'
import { addServiceOptions, addWorkerOptions } from '../../service/options.js'

export const serve: CommandSpec = {
  name: 'serve',
  summary: 'serve the REST API and the dashboard',
  details:
    'The server also enqueues scheduled jobs, delivers webhooks and recovers the jobs of lost workers. It runs jobs ' +
    'only with --with-worker.',
  options: command =>
    addServiceOptions(
      addWorkerOptions(
        command
          .option('--host <address>', 'listen on this address (default: 127.0.0.1)')
          .option('--port <number>', 'listen on this port; 0 picks a free one (default: 4100)')
          .option('--base-path <path>', 'path prefix, if a proxy adds one (default: /)')
          .option('--token <token>', 'admin token; prefer CHRONOS_TOKEN or CHRONOS_TOKEN_FILE')
          .option('--read-only', 'reject all changes')
          .option('--with-worker', 'also run jobs'),
      ),
    ),
  common: 'none',
  examples: `
chronos serve                                  http://127.0.0.1:4100
chronos serve --with-worker --jobs ./jobs.js
CHRONOS_TOKEN=… chronos serve --host 0.0.0.0 --store postgres://…`,
  notes: `
To listen beyond this machine it needs a token: CHRONOS_TOKEN, or one created
with \`chronos tokens create\`. SIGTERM stops it gracefully: /readyz answers 503,
running jobs may finish, the others are released, and the exit code is 0.`,
  run: async () => (await import('./run.js')).serve,
}
