import type { AlertView, Labels } from '../../../core/alert/alert.js'
import type { RuleName } from '../../../core/alert/rules.js'
import type { SilenceView } from '../../../core/alert/silence.js'
import { parseDuration } from '../../../core/values/duration.js'
import { count, duration, percent } from '../../data/format.js'
import { Tag } from '../../parts/badge.js'
import { href, pageOf } from '../../shell/router.js'

/** What each rule measures. */
export const RULES: Readonly<Record<RuleName, string>> = {
  'dead-letters': 'Unacknowledged dead letters in a queue',
  'retry-rate': 'Retries of a queue as a share of first attempts',
  'exhausted-burst': 'Jobs of a queue that exhausted their retries',
  'retry-latency': 'Delay of due retries of a queue',
  'queue-latency': 'Wait of the oldest due job of a queue',
  'no-workers': 'A queue has due jobs and no worker',
  'circuit-open': 'The circuit of a dependency is open',
  'endpoint-disabled': 'A webhook endpoint is disabled',
  'schedule-missed': 'A schedule missed occurrences',
}

export type Unit = 'duration' | 'share' | 'count'

export function unitOf({ name, fire }: { readonly name: string; readonly fire: number | string }): Unit {
  return typeof fire === 'string' ? 'duration' : name === 'retry-rate' ? 'share' : 'count'
}

const LATENCIES: readonly string[] = ['retry-latency', 'queue-latency']

/** These rules have no threshold. */
const FLAGS: readonly string[] = ['no-workers', 'circuit-open', 'endpoint-disabled']

export const isFlag = (rule: string): boolean => FLAGS.includes(rule)

/** The measured value of an alert as text. */
export function valueText({ rule, value }: Pick<AlertView, 'rule' | 'value'>): string {
  if (isFlag(rule)) return ''
  if (LATENCIES.includes(rule)) return duration(value)
  return rule === 'retry-rate' ? percent(value) : count(value)
}

export function thresholdText(value: number | string | undefined, unit: Unit): string {
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
