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

/** The page of the thing that a label names. */
function placeOf(label: string, value: string): string | undefined {
  switch (label) {
    case 'queue':
      return pageOf('queues', value)
    case 'circuit':
      return href('/dependencies')
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
