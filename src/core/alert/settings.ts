import { type Duration, durationText, HOUR_MS, toMs } from '../values/duration.js'
import { shown } from '../values/error.js'
import { present } from '../values/present.js'
import {
  about,
  anyText,
  type Infer,
  literal,
  named,
  oneOf,
  read,
  refuse,
  type Schema,
  value,
} from '../values/schema.js'
import { object, union, view } from '../values/shape.js'
import { anyRule, type RuleSettings, ruleForm } from './form.js'
import { type Rule, type Settings, UNITS } from './rule.js'
import { RULE_NAMES, RULES, type RuleName, ruleNamed } from './rules.js'

/** A rule with its settings. */
export interface AlertRule extends Settings, Pick<Rule, 'measures' | 'unit'> {
  readonly name: RuleName
}

const NEVER = Number.MAX_SAFE_INTEGER
const REPEAT_MS = 4 * HOUR_MS
/** What a rule has that its defaults don't say. */
const BLANK: Settings = { enabled: true, fire: 0, clear: 0, critical: NEVER, forMs: 0, keepMs: 0, repeat: REPEAT_MS }

const off = value<false>(
  { kinds: ['boolean'], expects: 'false or an object of settings', json: { type: 'boolean', enum: [false] } },
  given => given === false,
)

const ofRule = ({ unit, defaults }: Rule) => ruleForm({ unit, ...defaults })

const byRule = <T>(of: (settings: Schema<RuleSettings>) => Schema<T>): Schema<Readonly<Partial<Record<RuleName, T>>>> =>
  object({}, Object.fromEntries(RULES.map(rule => [rule.name, of(ofRule(rule))])) as Record<RuleName, Schema<T>>)

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

const { critical, window, minRetries, ...shownAlways } = anyRule.optional

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
