import { type Duration, durationText, HOUR_MS, toMs } from '../values/duration.js'
import { shown } from '../values/error.js'
import { present } from '../values/present.js'
import {
  about,
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

export type RuleName =
  | 'dead-letters'
  | 'retry-rate'
  | 'exhausted-burst'
  | 'retry-latency'
  | 'queue-latency'
  | 'no-workers'
  | 'circuit-open'
  | 'endpoint-disabled'
  | 'schedule-missed'

/** The settings of a rule, in numbers. */
export interface AlertRule {
  readonly name: RuleName
  readonly enabled: boolean
  /** A `level` can be measured at any time; a `rate` is known only while it is counted. */
  readonly measures: 'level' | 'rate'
  /** The unit of its values. */
  readonly unit: Unit
  /** It fires above this value … */
  readonly fire: number
  /** … and may be resolved at or below this one. */
  readonly clear: number
  /** It is critical above this value. */
  readonly critical: number
  /** How long it must be true, at every evaluation. */
  readonly forMs: number
  /** How long it must not be true any more. */
  readonly keepMs: number
  /** When the notice is repeated while it fires: after this many milliseconds, or when its value has doubled. */
  readonly repeat: number | 'doubled'
  /** The window that is counted, back from now. */
  readonly windowMs?: number
  /** With fewer runs, or fewer retries, in the window there is no value. */
  readonly minVolume?: number
  readonly minRetries?: number
}

type Unit = 'count' | 'share' | 'duration'

const MINUTE_MS = 60_000
const NEVER = Number.MAX_SAFE_INTEGER
const REPEAT_MS = 4 * HOUR_MS

const LEVEL = { enabled: true, measures: 'level', unit: 'count', critical: NEVER, repeat: REPEAT_MS } as const
const FLAG = { ...LEVEL, fire: 0, clear: 0, forMs: 0, keepMs: 0 } as const

/** Each rule has two thresholds, so that a value that varies around one of them does not alert all the time. */
const DEFAULTS: Readonly<Record<RuleName, Omit<AlertRule, 'name'>>> = {
  'dead-letters': { ...LEVEL, fire: 0, clear: 0, critical: 100, forMs: 5 * MINUTE_MS, keepMs: 2 * MINUTE_MS },
  'retry-rate': {
    enabled: true,
    measures: 'rate',
    unit: 'share',
    fire: 0.1,
    clear: 0.08,
    critical: 0.3,
    forMs: 5 * MINUTE_MS,
    keepMs: 5 * MINUTE_MS,
    repeat: REPEAT_MS,
    windowMs: 5 * MINUTE_MS,
    minVolume: 50,
    minRetries: 10,
  },
  'exhausted-burst': {
    enabled: true,
    measures: 'rate',
    unit: 'count',
    fire: 9,
    clear: 4,
    critical: 9,
    forMs: 0,
    keepMs: 10 * MINUTE_MS,
    repeat: 'doubled',
    windowMs: 5 * MINUTE_MS,
  },
  'retry-latency': {
    ...LEVEL,
    unit: 'duration',
    fire: MINUTE_MS,
    clear: MINUTE_MS / 2,
    forMs: 2 * MINUTE_MS,
    keepMs: 2 * MINUTE_MS,
  },
  'queue-latency': {
    ...LEVEL,
    unit: 'duration',
    fire: 5 * MINUTE_MS,
    clear: 2 * MINUTE_MS,
    critical: HOUR_MS,
    forMs: MINUTE_MS,
    keepMs: 2 * MINUTE_MS,
  },
  'no-workers': { ...FLAG, critical: 0, forMs: MINUTE_MS, keepMs: MINUTE_MS },
  'circuit-open': { ...FLAG, forMs: 2 * MINUTE_MS, keepMs: MINUTE_MS },
  'endpoint-disabled': FLAG,
  'schedule-missed': { ...FLAG, windowMs: 10 * MINUTE_MS },
}

export const RULE_NAMES = Object.keys(DEFAULTS) as readonly RuleName[]

export const DEFAULT_RULES: readonly AlertRule[] = RULE_NAMES.map(name => ({ name, ...DEFAULTS[name] }))

const VALUE_MAX = 1_000_000_000
const count = integer(0, VALUE_MAX)

const THRESHOLDS: Readonly<Record<Unit, Schema<number | Duration>>> = {
  count: number(0, VALUE_MAX),
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
  fire: about(threshold, 'The alert fires above this value.'),
  clear: about(threshold, 'The alert may resolve at or below this value.'),
  critical: about(threshold, 'The alert is critical above this value.'),
  for: about(lasting, 'How long the condition must hold before the alert fires.'),
  keep: about(lasting, 'How long the condition must be over before the alert resolves.'),
  repeat: about(repeat, 'When the notification is repeated: after a duration, or when the value has doubled.'),
})
const counted = {
  // Counts per minute are kept for two days, so a window must be shorter.
  window: about(duration({ min: MINUTE_MS, max: HOUR_MS }), 'How far back it counts.'),
}
const volume = {
  minVolume: about(count, 'With fewer runs in the window there is no value.'),
  minRetries: about(count, 'With fewer retries in the window there is no value.'),
}

/** The settings that any rule has; each rule has those that apply to it. */
const every = object({}, { ...common(union(number(), duration())), ...counted, ...volume })

/** A rule's settings as users write them; absent ones keep their defaults. */
export type RuleSettings = Infer<typeof every>

const off = value<false>(
  { kinds: ['boolean'], expects: 'false or an object of settings', json: { type: 'boolean', enum: [false] } },
  given => given === false,
)

const settingsOf = ({ unit, windowMs, minVolume }: Omit<AlertRule, 'name'>): Schema<RuleSettings> =>
  object(
    {},
    { ...common(THRESHOLDS[unit]), ...(windowMs !== undefined && counted), ...(minVolume !== undefined && volume) },
  )

const byRule = <T>(of: (settings: Schema<RuleSettings>) => Schema<T>): Schema<Readonly<Partial<Record<RuleName, T>>>> =>
  object(
    {},
    Object.fromEntries(RULE_NAMES.map(name => [name, of(settingsOf(DEFAULTS[name]))])) as Record<RuleName, Schema<T>>,
  )

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

const { critical, window, minVolume, minRetries, ...shownAlways } = every.optional

/** A rule as users see it; its output is also valid input. */
export const ruleView = named(
  'AlertRule',
  view({ name: ruleName, ...shownAlways }, { critical, window, minVolume, minRetries }),
)
export type RuleView = Infer<typeof ruleView>

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
  const { enabled = true, repeat: again, window, minVolume, minRetries } = settings
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
    ...present({ windowMs: window === undefined ? undefined : toMs(window, 'window'), minVolume, minRetries }),
  }
}

export function checkRuleName(given: unknown, what: string): asserts given is RuleName {
  read(ruleName, given, what)
}

export function viewRule(rule: AlertRule): RuleView {
  const { name, enabled, unit, critical, windowMs, minVolume, minRetries, repeat } = rule
  const shownAs = (value: number): number | Duration => (unit === 'duration' ? durationText(value) : value)
  return {
    name,
    enabled,
    fire: shownAs(rule.fire),
    clear: shownAs(rule.clear),
    ...(critical !== NEVER && { critical: shownAs(critical) }),
    for: durationText(rule.forMs),
    keep: durationText(rule.keepMs),
    repeat: repeat === 'doubled' ? repeat : durationText(repeat),
    ...(windowMs !== undefined && { window: durationText(windowMs) }),
    ...(minVolume !== undefined && { minVolume }),
    ...(minRetries !== undefined && { minRetries }),
  }
}
