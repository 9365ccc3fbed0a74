import { timeText } from '../job/view.js'
import { hash64 } from '../values/hash.js'
import { about, anyText, type Infer, named, number, oneOf } from '../values/schema.js'
import { record, view } from '../values/shape.js'
import { timestamp } from '../values/time.js'
import { type RuleName, ruleNamed } from './rules.js'
import { type AlertRule, ruleName, unit } from './settings.js'

export type AlertState = 'inactive' | 'pending' | 'firing'
export type Severity = 'warning' | 'critical'
/** The three kinds of notice: the alert fired, it is still firing, it was resolved. */
export type Notice = 'firing' | 'repeat' | 'resolved'
export type Labels = Readonly<Record<string, string>>

/** The value that a rule watches, at one moment. It is absent if there was nothing to measure. */
export interface Reading {
  readonly labels: Labels
  readonly value: number
  /** The same in words. */
  readonly summary: string
  /** More severe than its number says. */
  readonly isUrgent?: boolean
}

/** One rule applied to one thing. Plain data in the store, so that a restart resets nothing. */
export interface Alert {
  readonly id: string
  readonly rule: RuleName
  readonly labels: Labels
  readonly state: AlertState
  readonly severity: Severity
  readonly value: number
  readonly summary: string
  /** Since when it has been continuously true. */
  readonly since: number
  readonly evaluatedAt: number
  /** When it was last above the threshold that clears it. */
  readonly trueAt: number
  readonly firedAt?: number
  readonly resolvedAt?: number
  /** The last notice since it fired; absent while none was sent. */
  readonly noticed?: {
    readonly at: number
    readonly value: number
    readonly severity: Severity
    readonly count: number
  }
}

/** The inputs of one evaluation of a rule. */
export interface Look {
  readonly now: number
  /** The interval between evaluations. */
  readonly everyMs: number
  readonly isSilenced: boolean
}

export interface Step {
  /** Absent: there is nothing to store. */
  readonly alert?: Alert
  readonly notice?: Notice
}

/** After this many missed evaluations it is unknown whether the condition held all the time. */
const LOOKS_MISSED_MAX = 3
/** How long a resolved alert can be looked up. */
export const RESOLVED_KEPT_MS = 86_400_000

/** The same for the same rule and labels, in any order. */
export function alertId(rule: RuleName, labels: Labels): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))
  return `${rule}-${hash64(JSON.stringify([rule, sorted]))}`
}

const labelsKey = (labels: Labels): string =>
  Object.keys(labels)
    .sort()
    .map(name => `${name}\u0000${labels[name]}`)
    .join('\u0001')

/**
 * The readings of known alerts, and of as many new ones as there is room for, by the ids of their alerts. Other readings
 * change nothing, and there may be very many of them: one for each queue.
 */
export function relevantReadings(
  rule: AlertRule,
  readings: readonly Reading[],
  known: ReadonlyMap<string, Pick<Alert, 'labels'>>,
  room: number,
): { readonly seen: ReadonlyMap<string, Reading>; readonly isFull: boolean } {
  const ids = new Map([...known].map(([id, { labels }]) => [labelsKey(labels), id]))
  const seen = new Map<string, Reading>()
  let left = room
  for (const reading of readings) {
    const id = ids.get(labelsKey(reading.labels))
    if (id === undefined && (reading.value <= rule.fire || left-- <= 0)) continue
    seen.set(id ?? alertId(rule.name, reading.labels), reading)
  }
  return { seen, isFull: left < 0 }
}

/**
 * Decides the next state of an alert at one evaluation, and the notice to send. `inactive` → `pending` once the value
 * is above `fire`, → `firing` when it was so at every evaluation for `for`, and back when it was not above `clear` for
 * `keep`.
 */
export function advance(old: Alert | undefined, reading: Reading | undefined, rule: AlertRule, look: Look): Step {
  if (old?.state === 'firing') return firing(old, reading, rule, look)
  if (reading !== undefined && reading.value > rule.fire) return rising(old, reading, rule, look)
  // A pending alert has sent no notice, so it ends silently.
  const isKept = old?.resolvedAt !== undefined && look.now - old.resolvedAt < RESOLVED_KEPT_MS
  if (!old || !isKept) return {}
  return { alert: old.state === 'pending' ? { ...old, state: 'inactive' } : old }
}

function rising(old: Alert | undefined, reading: Reading, rule: AlertRule, look: Look): Step {
  const { now } = look
  const since = old?.state === 'pending' && !isInterrupted(old, rule, look) ? old.since : now
  const alert: Alert = {
    ...seen(reading, rule, now),
    state: 'pending',
    since,
    trueAt: now,
    ...(old?.resolvedAt !== undefined && { resolvedAt: old.resolvedAt }),
  }
  if (now - since < rule.forMs) return { alert }
  const { resolvedAt: _, ...fired } = alert
  return notify({ ...fired, state: 'firing', firedAt: now }, 'firing', look)
}

/** A rate is unknown for the time without evaluations; a level that still holds is taken to have held. */
function isInterrupted(old: Alert, rule: AlertRule, { now, everyMs }: Look): boolean {
  return rule.measures === 'rate' && now - old.evaluatedAt > LOOKS_MISSED_MAX * everyMs
}

function firing(old: Alert, reading: Reading | undefined, rule: AlertRule, look: Look): Step {
  const { now } = look
  const isAbove = reading !== undefined && reading.value > rule.clear
  if (isAbove) {
    const next = seen(reading, rule, now)
    // An alert that was once critical stays critical until it is resolved, so that the person on call learns that it is
    // over.
    const severity = old.severity === 'critical' ? old.severity : next.severity
    const alert: Alert = { ...old, ...next, severity, trueAt: now }
    const notice = noticeOf(alert, rule, now)
    return notice === undefined ? { alert } : notify(alert, notice, look)
  }
  const value = reading?.value ?? 0
  if (now - old.trueAt < rule.keepMs) return { alert: { ...old, value, evaluatedAt: now } }
  const over: Alert = { ...old, state: 'inactive', value, evaluatedAt: now, resolvedAt: now }
  // Without a notice that it fired, no notice says that it was resolved.
  return old.noticed === undefined ? { alert: over } : notify(over, 'resolved', look)
}

function noticeOf({ noticed, value, severity }: Alert, { repeat }: AlertRule, now: number): Notice | undefined {
  if (!noticed) return 'firing'
  if (severity !== noticed.severity) return 'repeat'
  const isDue = repeat === 'doubled' ? value >= 2 * noticed.value : now - noticed.at >= repeat
  return isDue ? 'repeat' : undefined
}

/** A silence only suppresses notices. */
function notify(alert: Alert, notice: Notice, { now, isSilenced }: Look): Step {
  if (isSilenced) return { alert }
  const noticed = { at: now, value: alert.value, severity: alert.severity, count: (alert.noticed?.count ?? 0) + 1 }
  return { alert: { ...alert, noticed }, notice }
}

function seen({ labels, value, summary, isUrgent = false }: Reading, rule: AlertRule, now: number) {
  const severity: Severity = isUrgent || value > rule.critical ? 'critical' : 'warning'
  return { id: alertId(rule.name, labels), rule: rule.name, labels, severity, value, summary, evaluatedAt: now }
}

/** `resolved`: the alert fired and ended within the last day. */
export const SHOWN_STATES = ['pending', 'firing', 'resolved'] as const

/** An alert as users see it, the same in TypeScript, REST and `--json`. */
export const alertView = named(
  'Alert',
  view(
    {
      id: anyText,
      rule: ruleName,
      labels: record(anyText),
      state: about(oneOf(SHOWN_STATES), 'resolved: the alert fired and ended within the last day.'),
      severity: oneOf(['warning', 'critical']),
      value: number(),
      unit,
      summary: anyText,
      since: timestamp,
    },
    {
      firedAt: timestamp,
      resolvedAt: timestamp,
      notifiedAt: about(timestamp, 'The last notification; absent while the alert is silenced.'),
    },
  ),
)
export type AlertView = Infer<typeof alertView>

export function viewAlert(alert: Alert): AlertView {
  const { id, rule, labels, state, severity, value, summary, since, firedAt, resolvedAt, noticed } = alert
  return {
    id,
    rule,
    labels,
    state: state === 'inactive' ? 'resolved' : state,
    severity,
    value,
    unit: ruleNamed(rule).unit,
    summary,
    since: timeText(since),
    ...(firedAt !== undefined && { firedAt: timeText(firedAt) }),
    ...(resolvedAt !== undefined && { resolvedAt: timeText(resolvedAt) }),
    ...(noticed && { notifiedAt: timeText(noticed.at) }),
  }
}

/** The notice that is delivered. */
export interface Notification {
  /** The same for every delivery of this notice. */
  readonly id: string
  readonly notice: Notice | 'test'
  readonly at: number
  readonly alert: AlertView
}

export function notificationOf(alert: Alert, notice: Notice, now: number): Notification {
  const round = notice === 'repeat' ? `repeat-${alert.noticed?.count ?? 0}` : notice
  return { id: `alert_${alert.id}_${alert.firedAt ?? now}_${round}`, notice, at: now, alert: viewAlert(alert) }
}

/** One line for people: `[firing] dead-letters: 3 dead letters in queue payments …`. */
export function headline({ notice, alert }: Notification): string {
  if (notice === 'test') return `[test] ${alert.summary}`
  const state = notice === 'repeat' ? 'still firing' : notice
  const severity = alert.severity === 'critical' && notice !== 'resolved' ? ', critical' : ''
  return `[${state}${severity}] ${alert.rule}: ${alert.summary}`
}
