import type { AlertView, Labels } from '../../../core/alert/alert.js'
import type { SilenceView } from '../../../core/alert/silence.js'
import { parseDuration } from '../../../core/values/duration.js'
import { count, duration, percent } from '../../data/format.js'
import { Tag } from '../../parts/badge.js'
import { href, pageOf } from '../../shell/router.js'

/** The measured value of an alert as text. */
export function valueText({ unit, value }: Pick<AlertView, 'unit' | 'value'>): string {
  if (unit === 'duration') return duration(value)
  return unit === 'flag' ? '' : thresholdText(value, unit)
}

export function thresholdText(value: number | string | undefined, unit: AlertView['unit']): string {
  if (value === undefined) return 'never'
  if (typeof value === 'string') return duration(parseDuration(value))
  return unit === 'share' ? percent(value) : count(value)
}

/** The page on which an operator finds the cause: of the one thing that the alerts are about, or the list of several. */
export function causeOf(alerts: readonly Pick<AlertView, 'rule' | 'labels'>[]): string {
  const [first] = alerts
  const { rule, labels } = first!
  const [name, value] = Object.entries(labels)[0] ?? []
  if (rule === 'dead-letters') return href('/dead', alerts.length === 1 ? { view: 'jobs', queue: labels['queue'] } : {})
  if (labels['name'] !== undefined && alerts.length === 1)
    return href('/jobs', { state: 'queued', queue: labels['queue'], name: labels['name'] })
  if (name === undefined || value === undefined) return href('/alerts')
  return alerts.length === 1 ? (placeOf(name, value) ?? href('/alerts')) : href(LISTS[name] ?? '/alerts')
}

const LISTS: Readonly<Record<string, string>> = {
  queue: '/queues',
  circuit: '/dependencies',
  endpoint: '/webhooks',
  schedule: '/schedules',
}

/** The page of the thing that a label names. */
function placeOf(label: string, value: string): string | undefined {
  switch (label) {
    case 'queue':
      return pageOf('queues', value)
    case 'circuit':
      return href('/dependencies', { q: value })
    case 'endpoint':
      return pageOf('webhooks', value)
    case 'schedule':
      return pageOf('schedules', value)
    default:
      return undefined
  }
}

export function LabelTags({ labels }: { readonly labels: Labels }) {
  return (
    <>
      {Object.entries(labels).map(([label, value]) => (
        <Tag key={label} href={placeOf(label, value)}>{`${label}: ${value}`}</Tag>
      ))}
    </>
  )
}

export function silenceOf(
  { rule, labels }: AlertView,
  silences: readonly SilenceView[],
  now: number,
): SilenceView | undefined {
  return silences.find(
    silence =>
      Date.parse(silence.until) > now &&
      (silence.rule === undefined || silence.rule === rule) &&
      Object.entries(silence.labels).every(([label, value]) => labels[label] === value),
  )
}
