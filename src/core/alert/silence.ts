import { timeText } from '../job/view.js'
import { toMs } from '../values/duration.js'
import { shown } from '../values/error.js'
import { freeText } from '../values/limits.js'
import { present } from '../values/present.js'
import { about, anyText, duration, type Infer, named, read, refined, refuse } from '../values/schema.js'
import { object, record, view } from '../values/shape.js'
import { time, timeOf, timestamp } from '../values/time.js'
import type { Labels } from './alert.js'
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

const LABELS_MAX = 10
const SILENCE_MIN_MS = 1_000
const SILENCE_MAX_MS = 365 * 86_400_000

const fields = object(
  {},
  {
    rule: about(ruleName, 'Default: every rule.', { label: 'Rule', hint: '' }),
    labels: about(
      record(freeText, { max: LABELS_MAX, of: 'labels' }),
      'The labels that an alert must have; it may have others.',
      { label: 'Labels', hint: 'Such as queue=mail, separated by commas', placeholder: 'queue=reports' },
    ),
    for: about(duration({ min: SILENCE_MIN_MS, max: SILENCE_MAX_MS }), 'How long it lasts.', { label: 'Duration' }),
    until: about(time, 'Instead of `for`: when it ends.'),
    comment: about(freeText, 'Why the alerts are silenced.', {
      label: 'Comment',
      placeholder: 'Migration of the mail server',
    }),
  },
)

/** A silence as users write it: with `for` or `until`. */
export const silenceInput = named(
  'NewSilence',
  refined(fields, given =>
    (given.for === undefined) === (given.until === undefined)
      ? `give for ("2h") or until (a time), got ${given.for === undefined ? 'neither' : 'both'}`
      : undefined,
  ),
  { example: { rule: 'queue-latency', labels: { queue: 'reports' }, for: '2h' } },
)

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
