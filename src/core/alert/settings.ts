import { type Duration, durationText, HOUR_MS, toMs } from '../values/duration.js'
import { shown } from '../values/error.js'
import { present } from '../values/present.js'
import {
  about,
  anyText,
  boolean,
  duration,
  type Infer,
  integer,
  literal,
  named,
  number,
  oneOf,
  read,
  refuse,
  type Schema,
  value,
} from '../values/schema.js'
import { object, union, view } from '../values/shape.js'
import { type Rule, type Settings, UNITS, type Unit } from './rule.js'
import { RULE_NAMES, RULES, type RuleName, ruleNamed } from './rules.js'

/** A rule with its settings. */
export interface AlertRule extends Settings, Pick<Rule, 'measures' | 'unit'> {
  readonly name: RuleName
}

const MINUTE_MS = 60_000
const NEVER = Number.MAX_SAFE_INTEGER
const REPEAT_MS = 4 * HOUR_MS
/** What a rule has that its defaults don't say. */
const BLANK: Settings = { enabled: true, fire: 0, clear: 0, critical: NEVER, forMs: 0, keepMs: 0, repeat: REPEAT_MS }

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
const every = object({}, { ...common(union(number(), duration())), ...counted, ...volume })

/** A rule's settings as users write them; absent ones keep their defaults. */
export type RuleSettings = Infer<typeof every>

const off = value<false>(
  { kinds: ['boolean'], expects: 'false or an object of settings', json: { type: 'boolean', enum: [false] } },
  given => given === false,
)

function settingsOf({ unit, defaults: { window, minRetries } }: Rule) {
  const own = { ...(window !== undefined && counted), ...(minRetries !== undefined && volume) }
  return object({}, { ...common(THRESHOLDS[unit]), ...own })
}

/** The settings of one rule, with the words of a form. */
export const ruleSettings = (name: RuleName) => settingsOf(ruleNamed(name))

const byRule = <T>(of: (settings: Schema<RuleSettings>) => Schema<T>): Schema<Readonly<Partial<Record<RuleName, T>>>> =>
  object({}, Object.fromEntries(RULES.map(rule => [rule.name, of(settingsOf(rule))])) as Record<RuleName, Schema<T>>)

export const ruleName = oneOf(RULE_NAMES)

/** Settings by rule; rules that are left out keep their defaults, and `false` turns a rule off. */
export const alertRules = byRule(settings => union(off, settings))
/** The same as a change: `null` removes what was stored for a rule. */
export const alertRuleChanges = named(
  'AlertRuleChanges',
  byRule(settings => union(off, literal(null), settings)),
  {
    description: 'Fields that are left out stay unchanged; false disables the rule, null removes the change.',
    example: { 'dead-letters': { fire: 5 }, 'no-workers': false },
  },
)

export type RulesInput = Infer<typeof alertRules>
export type RuleChanges = Infer<typeof alertRuleChanges>

const { critical, window, minRetries, ...shownAlways } = every.optional

const details = about(anyText, 'More about it.')

/** The unit of the values of a rule. */
export const unit = about(oneOf(UNITS), 'Durations are milliseconds, shares 1 for 100 %, and a flag is 1.')

/** A rule as users see it; its settings are also valid input. */
export const ruleView = named(
  'AlertRule',
  view(
    { name: ruleName, about: about(anyText, 'What it measures.'), unit, ...shownAlways },
    { details, critical, window, minRetries },
  ),
)
export type RuleView = Infer<typeof ruleView>

export const DEFAULT_RULES: readonly AlertRule[] = RULES.map(({ name, measures, unit, defaults }) =>
  changed({ name, measures, unit, ...BLANK }, defaults, 'defaults'),
)

/** The default rules with the given changes, checked; `where` is the name of the setting in errors. */
export function parseRules(input: unknown, where: string, base = DEFAULT_RULES): readonly AlertRule[] {
  const given = read(alertRules, input, where)
  return base.map(rule => {
    const settings = given[rule.name]
    if (settings === undefined) return rule
    return settings === false ? { ...rule, enabled: false } : changed(rule, settings, where)
  })
}

function changed(rule: AlertRule, settings: RuleSettings, where: string): AlertRule {
  const { enabled = true, repeat: again, window, minRetries } = settings
  const ms = (given: number | Duration | undefined, old: number): number =>
    given === undefined ? old : toMs(given, 'duration')
  const threshold = (key: 'fire' | 'clear' | 'critical'): number =>
    rule.unit === 'duration' ? ms(settings[key], rule[key]) : ((settings[key] as number | undefined) ?? rule[key])
  const fire = threshold('fire')
  // Moving `fire` below the default `clear` moves `clear` too.
  const clear = settings.clear === undefined ? Math.min(rule.clear, fire) : threshold('clear')
  if (clear > fire) {
    const problem = `clear must not be above fire: expected at most ${shown(fire)}, got ${shown(clear)}`
    throw refuse([rule.name], `${problem}; below it, the alert has room to waver`, where, 'INVALID_OPTION')
  }
  return {
    ...rule,
    enabled,
    fire,
    clear,
    critical: threshold('critical'),
    forMs: ms(settings.for, rule.forMs),
    keepMs: ms(settings.keep, rule.keepMs),
    repeat: again === undefined ? rule.repeat : again === 'doubled' ? again : toMs(again, 'repeat'),
    ...present({ windowMs: window === undefined ? undefined : toMs(window, 'window'), minRetries }),
  }
}

export function checkRuleName(given: unknown, what: string): asserts given is RuleName {
  read(ruleName, given, what)
}

export function viewRule(rule: AlertRule): RuleView {
  const { name, enabled, unit, critical, windowMs, minRetries, repeat } = rule
  const { about, details } = ruleNamed(name)
  const shownAs = (value: number): number | Duration => (unit === 'duration' ? durationText(value) : value)
  return present({
    name,
    about,
    details,
    unit,
    enabled,
    fire: shownAs(rule.fire),
    clear: shownAs(rule.clear),
    critical: critical === NEVER ? undefined : shownAs(critical),
    for: durationText(rule.forMs),
    keep: durationText(rule.keepMs),
    repeat: repeat === 'doubled' ? repeat : durationText(repeat),
    window: windowMs === undefined ? undefined : durationText(windowMs),
    minRetries,
  })
}
