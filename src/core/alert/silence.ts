import { timeText } from '../job/view.js'
import { type Duration, toMs } from '../values/duration.js'
import { ChronosError, shown } from '../values/error.js'
import { checkText } from '../values/limits.js'
import { readForm } from '../values/options-reader.js'
import type { Labels } from './alert.js'
import { checkRuleName, type RuleName } from './rules.js'

/** Suppresses the notices of some alerts for a while. The alerts themselves continue as usual. */
export interface Silence {
  readonly id: string
  /** Absent: every rule. */
  readonly rule?: RuleName
  /** The labels that an alert must have; it may have others. */
  readonly labels: Labels
  readonly comment?: string
  readonly createdAt: number
  readonly until: number
}

export interface SilenceInput {
  readonly rule?: RuleName
  readonly labels?: Labels
  /** How long, or … */
  readonly for?: Duration
  /** … until when. */
  readonly until?: Date | string
  readonly comment?: string
}

export interface SilenceView extends Omit<Silence, 'createdAt' | 'until'> {
  readonly createdAt: string
  readonly until: string
}

const KEYS = ['rule', 'labels', 'for', 'until', 'comment'] as const
const LABELS_MAX = 10
const SILENCE_MIN_MS = 1_000
const SILENCE_MAX_MS = 365 * 86_400_000

export function isSilenced(
  { rule, labels }: { readonly rule: RuleName; readonly labels: Labels },
  silences: readonly Silence[],
  now: number,
): boolean {
  return silences.some(
    silence =>
      silence.until > now &&
      (silence.rule === undefined || silence.rule === rule) &&
      Object.entries(silence.labels).every(([label, value]) => labels[label] === value),
  )
}

export function parseSilence(input: unknown, id: string, now: number, where: string): Silence {
  const form = readForm(input, where, KEYS, 'INVALID_OPTION')
  const [rule, comment] = [form.get('rule'), form.get('comment')]
  if (rule !== undefined) checkRuleName(rule, `${where}.rule`)
  if (comment !== undefined) checkText(comment, `${where}.comment`)
  return {
    id,
    ...(rule !== undefined && { rule: rule as RuleName }),
    labels: parseLabels(form.get('labels') ?? {}, `${where}.labels`),
    ...(comment !== undefined && { comment }),
    createdAt: now,
    until: untilOf(form.get('for'), form.get('until'), now, where),
  }
}

function parseLabels(input: unknown, where: string): Labels {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new ChronosError('INVALID_OPTION', `${where}: expected an object of labels, got ${shown(input)}`)
  }
  const entries = Object.entries(input)
  if (entries.length > LABELS_MAX) {
    throw new ChronosError('INVALID_OPTION', `${where}: expected at most ${LABELS_MAX} labels, got ${entries.length}`)
  }
  for (const [label, value] of entries) checkText(value, `${where}.${label}`)
  return Object.fromEntries(entries) as Labels
}

function untilOf(lasts: unknown, until: unknown, now: number, where: string): number {
  if ((lasts === undefined) === (until === undefined)) {
    const given = lasts === undefined ? 'neither' : 'both'
    throw new ChronosError('INVALID_OPTION', `${where}: give for ("2h") or until (a time), got ${given}`)
  }
  const limits = { min: SILENCE_MIN_MS, max: SILENCE_MAX_MS }
  if (lasts !== undefined) return now + toMs(lasts, `${where}.for`, limits)
  const at = until instanceof Date ? until.getTime() : typeof until === 'string' ? Date.parse(until) : Number.NaN
  if (at > now && at - now <= SILENCE_MAX_MS) return at
  const expected = 'a time to come, within a year, such as "2026-12-24T18:00:00Z"'
  throw new ChronosError('INVALID_OPTION', `${where}.until: expected ${expected}, got ${shown(until)}`)
}

export function viewSilence({ createdAt, until, ...silence }: Silence): SilenceView {
  return { ...silence, createdAt: timeText(createdAt), until: timeText(until) }
}
