import type { AlertView } from '../../../core/alert/alert.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { type Entry, entryTable } from '../../output/entry-table.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { many, show } from '../../output/show.js'
import { ALERT_MARKS, markCell } from '../../output/symbols.js'

export interface AlertOptions extends BackendOptions {
  readonly json?: true
}

interface ListOptions extends AlertOptions {
  readonly state?: AlertView['state']
}

export async function listAlerts(options: ListOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const { state } = options
    const [list, { now }] = await Promise.all([
      backend.alerts.list(state === undefined ? {} : { state }),
      backend.info(),
    ])
    const { data } = list
    show(io, options, list, style => (data.length === 0 ? '' : alertTable(data, now, style)))
    if (!options.json) io.stderr.write(data.length === 0 ? 'no alert\n' : `${many(data.length, 'alert')}\n`)
  })
}

function alertTable(alerts: readonly AlertView[], now: number, style: Style): string {
  const entries = alerts.map((alert): Entry => {
    const { rule, severity, since, summary, state } = alert
    return {
      cells: [
        markCell(ALERT_MARKS[state], style),
        severity === 'critical' ? { text: severity, tone: 'bad' } : severity,
        `${brief(now - timeOf(since))} ago`,
        { text: rule, tone: 'strong' },
      ],
      below: [summary],
      beside: [summary],
    }
  })
  const columns = [
    { title: 'State' },
    { title: 'Severity' },
    { title: 'Since', align: 'right' },
    { title: 'Rule' },
  ] as const
  return entryTable(columns, ['What'], entries, style)
}
