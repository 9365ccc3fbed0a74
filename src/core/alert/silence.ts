import { timeText } from '../job/view.js'
import { toMs } from '../values/duration.js'
import { shown } from '../values/error.js'
import { present } from '../values/present.js'
import { anyText, type Infer, named, read, refuse } from '../values/schema.js'
import { record, view } from '../values/shape.js'
import { timeOf, timestamp } from '../values/time.js'
import type { Labels } from './alert.js'
import { SILENCE_MAX_MS, silenceForm } from './form.js'
import type { RuleName } from './rules.js'
import { ruleName } from './settings.js'

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

export const silenceInput = named('NewSilence', silenceForm(ruleName), {
  example: { rule: 'queue-latency', labels: { queue: 'reports' }, for: '2h' },
})

export type SilenceInput = Infer<typeof silenceInput>

export const silenceView = named(
  'Silence',
  view(
    { id: anyText, labels: record(anyText), createdAt: timestamp, until: timestamp },
    { rule: ruleName, comment: anyText },
  ),
)
export type SilenceView = Infer<typeof silenceView>

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
  const { rule, labels = {}, comment, until, for: lasts } = read(silenceInput, input, where)
  const end = until === undefined ? now + toMs(lasts, 'for') : timeOf(until, 'until')
  if (end <= now || end - now > SILENCE_MAX_MS) {
    const expected = 'a time to come, within a year, such as "2026-12-24T18:00:00Z"'
    throw refuse(['until'], `expected ${expected}, got ${shown(until)}`, where, 'INVALID_OPTION')
  }
  return present({ id, rule, labels, comment, createdAt: now, until: end })
}

export function viewSilence({ createdAt, until, ...silence }: Silence): SilenceView {
  return { ...silence, createdAt: timeText(createdAt), until: timeText(until) }
}
