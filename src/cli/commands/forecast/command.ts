import type { PresetName } from '../../../core/policy/presets.js'
import { present } from '../../../core/values/present.js'
import { acting, type CommandSpec } from '../../command.js'

interface ForecastOptions {
  readonly queue?: string
  readonly dependency?: string
  readonly error?: string
  readonly tenant?: string
  readonly all?: boolean
  readonly policy?: PresetName
}

export const forecast: CommandSpec = {
  name: 'forecast',
  summary: 'forecast when waiting jobs die if nothing improves',
  details:
    'It applies the retry policies of the waiting jobs: every run fails at once, and starts when it is due. Jitter gives a range.',
  options: command =>
    command
      .option('--queue <name>', 'only jobs of this queue')
      .option('--dependency <key>', 'only jobs that need this dependency')
      .option('--error <fingerprint>', 'only jobs whose last run failed with this error')
      .option('--tenant <id>', 'only jobs of this tenant')
      .option('--all', 'include jobs that have not run yet')
      .option('--policy <name>', 'the preset to compare with (default: patient)'),
  examples: `
chronos forecast
chronos forecast --dependency stripe
chronos forecast --queue mail --policy http
chronos forecast --json | jq .last.latest`,
  notes: `
Hold the jobs before they die: "chronos circuits open KEY" or
"chronos queues pause NAME". Held jobs use no attempts.`,
  run: acting(
    (backend, { queue, dependency, error, tenant, all, policy }: ForecastOptions) =>
      backend.forecast(present({ queue, dependency, fingerprint: error, tenantId: tenant, all, policy })),
    { text: async (forecast, style) => (await import('./run.js')).forecastText(forecast, style).trimEnd() },
  ),
}
