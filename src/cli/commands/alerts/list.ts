import type { AlertView } from '../../../core/alert/alert.js'
import { type Entry, entryTable } from '../../entries.js'
import type { Io } from '../../io.js'
import { ALERT_MARKS, markCell } from '../../marks.js'
import { brief, timeOf } from '../../moment.js'
import type { TargetOptions } from '../../place.js'
import type { Style } from '../../print.js'
import { many, show } from '../../show.js'
import { withTarget } from '../../target.js'

export interface AlertOptions extends TargetOptions {
  readonly json?: true
}

interface ListOptions extends AlertOptions {
  readonly state?: AlertView['state']
}

export async function listAlerts(options: ListOptions, io: Io): Promise<void> {
  await withTarget(options, io, async target => {
    const { state } = options
    const [list, { now }] = await Promise.all([target.alerts.list(state === undefined ? {} : { state }), target.info()])
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
