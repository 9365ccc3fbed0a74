import type { AlertView } from '../../../core/alert/alert.js'
import { present } from '../../../core/values/present.js'
import type { Backend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { list } from '../../list.js'
import { type Entry, entryTable } from '../../output/entry-table.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { ALERT_MARKS, markCell } from '../../output/symbols.js'

interface ListOptions extends BackendOptions {
  readonly state?: AlertView['state']
}

export function listAlerts(options: ListOptions, io: Io): Promise<void> {
  const read = ({ alerts }: Backend) => alerts.list(present({ state: options.state }))
  return list({ noun: 'alert', read, text: alertTable }, options, io)
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
  return entryTable(columns, ['Summary'], entries, style)
}
