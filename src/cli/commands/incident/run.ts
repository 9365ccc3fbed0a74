import type { IncidentEntry, IncidentError, IncidentReport } from '../../../core/incident/report.js'
import { type Column, paint, type Style, table } from '../../output/print.js'
import { countText, hang } from '../../output/show.js'
import { padEnd } from '../../output/width.js'

const KIND_COLUMNS = 8

export function incidentText(report: IncidentReport, style: Style): string {
  const { from, to, summary, timeline, errors, tenantId, hasActions, complete } = report
  const title = `${shortTime(from)} to ${shortTime(to)} UTC${tenantId === undefined ? '' : `, tenant ${tenantId}`}`
  const notes = [
    ...(hasActions ? [] : ['Changes by operators are left out: only admins may read the audit log.']),
    ...(complete
      ? []
      : ['There is too much to read: the oldest, and the rarest errors, are left out. Choose a shorter range.']),
  ]
  const parts = [
    `${paint(title, 'strong', style)}\n${[...summary, ...notes].map(line => hang('', 0, line, style)).join('')}`,
    ...(timeline.length === 0
      ? []
      : [part('Timeline', timeline.map(entry => lineOf(entry, from, to, style)).join(''), style)]),
    ...(errors.length === 0 ? [] : [part('Errors', errorTable(errors, style), style)]),
  ]
  return parts.join('\n')
}

const part = (title: string, text: string, style: Style): string => `${paint(title, 'strong', style)}\n${text}`

const shortTime = (at: string): string => at.slice(0, 16).replace('T', ' ')

/** The date is left out if the whole range is within a day. */
function lineOf({ at, kind, text, isTrouble, until }: IncidentEntry, from: string, to: string, style: Style): string {
  const isOneDay = Date.parse(to) - Date.parse(from) <= 86_400_000
  const time = isOneDay ? at.slice(11, 19) : at.slice(0, 19).replace('T', ' ')
  const head = `  ${time}  ${paint(padEnd(kind, KIND_COLUMNS), isTrouble ? 'bad' : 'dim', style)}`
  const width = 2 + time.length + 2 + KIND_COLUMNS
  return hang(head, width, until === undefined ? text : `${text} (until ${until.slice(11, 19)})`, style)
}

const COLUMNS: readonly Column[] = [
  { title: 'Failed runs', align: 'right' },
  { title: 'Before', align: 'right' },
  { title: 'Died', align: 'right' },
  { title: 'Course', min: 9 },
  { title: 'Fingerprint' },
  { title: 'Error', wraps: true },
]

function errorTable(errors: readonly IncidentError[], style: Style): string {
  const rows = errors.map(({ failures, before, deaths, course, fingerprint, title }) => [
    countText(failures),
    countText(before),
    countText(deaths),
    course === 'continued' ? course : { text: course, tone: 'bad' as const },
    fingerprint,
    title,
  ])
  return table(COLUMNS, rows, style)
}
