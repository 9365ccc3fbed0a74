import { timeText } from '../job/view.js'
import { hash64 } from '../values/hash.js'
import type { AlertRule, RuleName } from './rules.js'

export type AlertState = 'inactive' | 'pending' | 'firing'
export type Severity = 'warning' | 'critical'
/** What people are told: that it began, that it still goes on, that it is over. */
export type Notice = 'firing' | 'repeat' | 'resolved'
export type Labels = Readonly<Record<string, string>>

/** What a rule watches, at one moment. Where there is none, there was nothing to measure. */
export interface Reading {
  readonly labels: Labels
  readonly value: number
  /** The same in words, for people. */
  readonly summary: string
  /** Worse than its number says. */
  readonly isUrgent?: boolean
}

/** One rule on one thing. Plain data that is kept in the store, so that a restart resets nothing. */
export interface Alert {
  readonly id: string
  readonly rule: RuleName
  readonly labels: Labels
  readonly state: AlertState
  readonly severity: Severity
  readonly value: number
  readonly summary: string
  /** Since when it is continuously true. */
  readonly since: number
  readonly evaluatedAt: number
  /** When it was last above the threshold that clears it. */
  readonly trueAt: number
  readonly firedAt?: number
  readonly resolvedAt?: number
  /** The last notice of this firing; absent while nobody was told of it. */
  readonly noticed?: {
    readonly at: number
    readonly value: number
    readonly severity: Severity
    readonly count: number
  }
}

/** Where somebody looks at a rule. */
export interface Look {
  readonly now: number
  /** How often somebody looks. */
  readonly everyMs: number
  readonly isSilenced: boolean
}

export interface Step {
  /** Absent: nothing is to be remembered. */
  readonly alert?: Alert
  readonly notice?: Notice
}

/** So many missed looks, and nobody knows whether it was true all the time. */
const LOOKS_MISSED_MAX = 3
/** A resolved one can be looked up for so long. */
export const RESOLVED_KEPT_MS = 86_400_000

/** The same for the same rule and labels, whatever their order. */
export function alertId(rule: RuleName, labels: Labels): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))
  return `${rule}-${hash64(JSON.stringify([rule, sorted]))}`
}

/**
 * What becomes of an alert at one look, and what people are told. `inactive` → `pending` once the value is above `fire`,
 * → `firing` when it was so at every look for `for`, and back when it was not above `clear` for `keep`.
 */
export function advance(old: Alert | undefined, reading: Reading | undefined, rule: AlertRule, look: Look): Step {
  if (old?.state === 'firing') return firing(old, reading, rule, look)
  if (reading !== undefined && reading.value > rule.fire) return rising(old, reading, rule, look)
  // A pending one was nothing: nobody heard of it.
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
  return told({ ...fired, state: 'firing', firedAt: now }, 'firing', look)
}

/** A rate says nothing about the time in which nobody looked; a level that is still there was there. */
function isInterrupted(old: Alert, rule: AlertRule, { now, everyMs }: Look): boolean {
  return rule.measures === 'rate' && now - old.evaluatedAt > LOOKS_MISSED_MAX * everyMs
}

function firing(old: Alert, reading: Reading | undefined, rule: AlertRule, look: Look): Step {
  const { now } = look
  const isAbove = reading !== undefined && reading.value > rule.clear
  if (isAbove) {
    const next = seen(reading, rule, now)
    // Who was called for something critical is told when it is over, however it went on.
    const severity = old.severity === 'critical' ? old.severity : next.severity
    const alert: Alert = { ...old, ...next, severity, trueAt: now }
    const notice = noticeOf(alert, rule, now)
    return notice === undefined ? { alert } : told(alert, notice, look)
  }
  const value = reading?.value ?? 0
  if (now - old.trueAt < rule.keepMs) return { alert: { ...old, value, evaluatedAt: now } }
  const over: Alert = { ...old, state: 'inactive', value, evaluatedAt: now, resolvedAt: now }
  // Who never heard that it began is not told that it is over.
  return old.noticed === undefined ? { alert: over } : told(over, 'resolved', look)
}

function noticeOf({ noticed, value, severity }: Alert, { repeat }: AlertRule, now: number): Notice | undefined {
  if (!noticed) return 'firing'
  if (severity !== noticed.severity) return 'repeat'
  const isDue = repeat === 'doubled' ? value >= 2 * noticed.value : now - noticed.at >= repeat
  return isDue ? 'repeat' : undefined
}

/** A silence keeps people from being told, and nothing else. */
function told(alert: Alert, notice: Notice, { now, isSilenced }: Look): Step {
  if (isSilenced) return { alert }
  const noticed = { at: now, value: alert.value, severity: alert.severity, count: (alert.noticed?.count ?? 0) + 1 }
  return { alert: { ...alert, noticed }, notice }
}

function seen({ labels, value, summary, isUrgent = false }: Reading, rule: AlertRule, now: number) {
  const severity: Severity = isUrgent || value > rule.critical ? 'critical' : 'warning'
  return { id: alertId(rule.name, labels), rule: rule.name, labels, severity, value, summary, evaluatedAt: now }
}

/** An alert as the world sees it: the same in TypeScript, REST and `--json`. */
export interface AlertView {
  readonly id: string
  readonly rule: RuleName
  readonly labels: Labels
  /** `resolved`: it fired within the last day, and is over. */
  readonly state: 'pending' | 'firing' | 'resolved'
  readonly severity: Severity
  readonly value: number
  readonly summary: string
  readonly since: string
  readonly firedAt?: string
  readonly resolvedAt?: string
  /** When people were last told; absent while it is silenced. */
  readonly notifiedAt?: string
}

export function viewAlert(alert: Alert): AlertView {
  const { id, rule, labels, state, severity, value, summary, since, firedAt, resolvedAt, noticed } = alert
  return {
    id,
    rule,
    labels,
    state: state === 'inactive' ? 'resolved' : state,
    severity,
    value,
    summary,
    since: timeText(since),
    ...(firedAt !== undefined && { firedAt: timeText(firedAt) }),
    ...(resolvedAt !== undefined && { resolvedAt: timeText(resolvedAt) }),
    ...(noticed && { notifiedAt: timeText(noticed.at) }),
  }
}

/** What goes out to people. */
export interface Notification {
  /** The same however often it is delivered. */
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
