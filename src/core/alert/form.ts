import { type Duration, HOUR_MS } from '../values/duration.js'
import { freeText } from '../values/limits.js'
import {
  about,
  boolean,
  duration,
  type Infer,
  integer,
  literal,
  number,
  refined,
  type Schema,
  value,
} from '../values/schema.js'
import { object, record, union } from '../values/shape.js'
import { time } from '../values/time.js'
import type { Unit } from './rule.js'

// The forms of rules and silences. They know no rule, so that a browser can use them without the table of rules.

const MINUTE_MS = 60_000
const VALUE_MAX = 1_000_000_000
const count = integer(0, VALUE_MAX)

const THRESHOLDS: Readonly<Record<Unit, Schema<number | Duration>>> = {
  count: number(0, VALUE_MAX),
  flag: number(0, VALUE_MAX),
  share: value(
    {
      kinds: ['number'],
      expects: 'a share such as 0.1 for 10 %',
      json: { type: 'number', minimum: 0, maximum: VALUE_MAX },
    },
    given => typeof given === 'number' && given >= 0 && given <= VALUE_MAX,
  ),
  duration: duration(),
}

const repeated = duration({ min: MINUTE_MS })
const repeat: Schema<'doubled' | Duration> = {
  ...union(literal('doubled'), repeated),
  check: given => (given === 'doubled' ? given : repeated.check(given)),
}
const lasting = duration({ max: 7 * 24 * HOUR_MS })

const common = (threshold: Schema<number | Duration>) => ({
  enabled: boolean,
  fire: about(threshold, 'The alert fires above this value.', { label: 'Fires above', hint: '' }),
  clear: about(threshold, 'The alert may resolve at or below this value.', {
    label: 'Resolves at or below',
    hint: 'A lower value avoids flapping',
  }),
  critical: about(threshold, 'The alert is critical above this value.', {
    label: 'Critical above',
    hint: 'Empty: unchanged',
    placeholder: 'never',
  }),
  for: about(lasting, 'How long the condition must hold before the alert fires.', { label: 'Pending for' }),
  keep: about(lasting, 'How long the condition must be over before the alert resolves.', { label: 'Resolves after' }),
  repeat: about(repeat, 'When the notification is repeated: after a duration, or when the value has doubled.'),
})
const counted = {
  // Counts per minute are kept for two days, so a window must be shorter.
  window: about(duration({ min: MINUTE_MS, max: HOUR_MS }), 'How far back it counts.', { label: 'Window' }),
}
const volume = {
  minRetries: about(count, 'With fewer retries in the window there is no value.', { label: 'Minimum retries' }),
}

/** The settings that any rule has; each rule has those that apply to it. */
export const anyRule = object({}, { ...common(union(number(), duration())), ...counted, ...volume })

/** A rule's settings as users write them; absent ones keep their defaults. */
export type RuleSettings = Infer<typeof anyRule>

/** What decides which settings a rule has. */
interface RuleKind {
  readonly unit: Unit
  readonly window?: Duration | undefined
  readonly minRetries?: number | undefined
}

/** The settings of one rule, with the words of a form. */
export function ruleForm({ unit, window, minRetries }: RuleKind) {
  const own = { ...(window !== undefined && counted), ...(minRetries !== undefined && volume) }
  return object({}, { ...common(THRESHOLDS[unit]), ...own })
}

const LABELS_MAX = 10
const SILENCE_MIN_MS = 1_000
export const SILENCE_MAX_MS = 365 * 86_400_000

/** A silence as users write it: with `for` or `until`. */
export const silenceForm = <Name extends string>(ruleName: Schema<Name>) =>
  refined(
    object(
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
    ),
    given =>
      (given.for === undefined) === (given.until === undefined)
        ? `give for ("2h") or until (a time), got ${given.for === undefined ? 'neither' : 'both'}`
        : undefined,
  )
