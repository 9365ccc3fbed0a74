import type { CommandSpec } from '../../command.js'
import { addSettingFlags } from '../../config/settings.js'
import { addServiceOptions, addWorkerOptions } from '../../service/options.js'

export const dev: CommandSpec = {
  name: 'dev',
  summary: 'start a server, a worker and the dashboard on this machine',
  details:
    'All of them run in one process on one SQLite file, and listen on this machine only. Each queue that appears gets a ' +
    'worker, whatever --queues says.',
  options: command =>
    addServiceOptions(
      addWorkerOptions(
        addSettingFlags(command, 'port')
          .option('--demo', 'seed demo data for every screen (in ./chronos-demo.db, unless --store is given)')
          .option('--open', 'open the dashboard in your browser'),
      ),
    ),
  common: 'none',
  examples: `
chronos dev
chronos dev --demo --open              demo data for every screen
chronos dev --jobs ./jobs.js --port 5000`,
  notes: `
HTTP jobs can call /__echo to try retries: /__echo?status=503&fail=2&delay=1s
answers 503 to the first two calls of a job, each after one second, then 200.`,
  run: async () => (await import('./run.js')).runDev,
}
