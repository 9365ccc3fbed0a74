import type { CommandSpec } from '../../command.js'
import { addSettingFlags } from '../../config/settings.js'
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
        addSettingFlags(
          addSettingFlags(command, 'host', 'port', 'basePath').option(
            '--token <token>',
            'admin token; prefer CHRONOS_TOKEN or CHRONOS_TOKEN_FILE',
          ),
          'readOnly',
          'mcpWrites',
        ).option('--with-worker', 'also run jobs'),
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
