import type { AlertView } from '../../../core/alert/alert.js'
import { present } from '../../../core/values/present.js'
import type { Listing } from '../../list.js'
import { type Entry, entryTable } from '../../output/entry-table.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { ALERT_MARKS, markCell } from '../../output/symbols.js'

export const ALERTS: Listing<AlertView, [{ readonly state?: AlertView['state'] }]> = {
  noun: 'alert',
  read: ({ alerts }, { state }) => alerts.list(present({ state })),
  text: alertTable,
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
