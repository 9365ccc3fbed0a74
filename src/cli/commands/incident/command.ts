import { pastTime } from '../../argument.js'
import { acting, type CommandSpec } from '../../command.js'

interface IncidentOptions {
  readonly from?: Date
  readonly to?: Date
  readonly tenant?: string
}

export const incident: CommandSpec = {
  name: 'incident',
  summary: 'report what happened in a time range',
  details:
    'It shows the outcomes of jobs, errors that began or spiked, circuits, alerts, deploys (workers with a --build), ' +
    'redrives and changes by operators, in one timeline.',
  options: command =>
    command
      .option(
        '--from <time>',
        'start: 02:00 (UTC), 2026-12-24T02:00Z or 2h ago (default: an hour before)',
        pastTime('--from'),
      )
      .option('--to <time>', 'end, at most 7 days later (default: now)', pastTime('--to'))
      .option('--tenant <id>', 'only what concerns this tenant'),
  examples: `
chronos incident --from 02:00 --to 03:00
chronos incident --from 2h
chronos incident --from 2026-12-24T02:00Z --to 2026-12-24T03:00Z
chronos incident --from 2h --json | jq .timeline`,
  run: acting(
    (backend, { from, to, tenant: tenantId }: IncidentOptions) =>
      backend.incident({ ...(from && { from }), ...(to && { to }), ...(tenantId !== undefined && { tenantId }) }),
    { text: async (report, style) => (await import('./run.js')).incidentText(report, style).trimEnd() },
  ),
}
