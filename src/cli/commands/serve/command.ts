import type { Command } from 'commander'
import type { Io } from '../../io.js'
import { addServiceOptions, addWorkerOptions } from '../../service/options.js'

const EXAMPLES = `
Examples:
  $ chronos serve                                  http://127.0.0.1:4100
  $ chronos serve --with-worker --jobs ./jobs.js
  $ CHRONOS_TOKEN=… chronos serve --host 0.0.0.0 --store postgres://…

Beyond this machine it does not listen without a token: CHRONOS_TOKEN, or one
that \`chronos tokens create\` made. SIGTERM stops it well: /readyz says 503,
running jobs may end, the others are handed back, and it ends with 0.`

/** Server and dashboard until it is told to stop. */
export function addServe(program: Command, io: Io): void {
  const serve = program
    .command('serve')
    .summary('serve the API and the dashboard')
    .description(
      'Serves the REST API and the dashboard, schedules jobs, delivers webhooks and hands on what dead workers held. ' +
        'It runs jobs only with --with-worker.',
    )
    .option('--host <address>', 'listen on this address (default: 127.0.0.1)')
    .option('--port <number>', 'listen on this port; 0 takes a free one (default: 4100)')
    .option('--base-path <path>', 'the path under which a proxy has put it (default: /)')
    .option('--token <token>', 'lets an administrator in; better: CHRONOS_TOKEN or CHRONOS_TOKEN_FILE')
    .option('--read-only', 'nobody can change anything')
    .option('--with-worker', 'run jobs too')
    .addHelpText('after', EXAMPLES)
  addServiceOptions(addWorkerOptions(serve)).action(async options => (await import('./run.js')).serve(options, io))
}
