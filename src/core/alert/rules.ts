import { type Duration, durationText, HOUR_MS, toMs } from '../values/duration.js'
import { ChronosError, shown } from '../values/error.js'
import { checkInteger, checkWord } from '../values/limits.js'
import { readForm } from '../values/options-reader.js'

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

/** A rule's settings as users write them; absent ones keep their defaults. `false`: off. */
export interface RuleSettings {
  readonly enabled?: boolean
  /** Durations for latency rules, a share for `retry-rate`, else a number. */
  readonly fire?: number | Duration
  readonly clear?: number | Duration
  readonly critical?: number | Duration
  readonly for?: Duration
  readonly keep?: Duration
  readonly repeat?: Duration | 'doubled'
  readonly window?: Duration
  readonly minVolume?: number
  readonly minRetries?: number
}

export type RulesInput = Readonly<Partial<Record<RuleName, RuleSettings | false>>>

/** A rule as users see it; its output is also valid input. */
export type RuleView = Required<Pick<RuleSettings, 'enabled' | 'fire' | 'clear' | 'for' | 'keep' | 'repeat'>> &
  Pick<RuleSettings, 'critical' | 'window' | 'minVolume' | 'minRetries'> & { readonly name: RuleName }

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

const COMMON = ['enabled', 'fire', 'clear', 'critical', 'for', 'keep', 'repeat'] as const
const VALUE_MAX = 1_000_000_000
const FOR_MAX_MS = 7 * 24 * HOUR_MS
/** Counts per minute are kept for two days, so a window must be shorter. */
const WINDOW_LIMITS = { min: MINUTE_MS, max: HOUR_MS }

/** The default rules with the given changes, checked; `where` is the name of the setting in errors. */
export function parseRules(input: unknown, where: string, base = DEFAULT_RULES): readonly AlertRule[] {
  const form = readForm(input, where, RULE_NAMES, 'INVALID_OPTION')
  return base.map(rule => {
    const settings = form.get(rule.name)
    if (settings === undefined) return rule
    return settings === false ? { ...rule, enabled: false } : parseRule(rule, settings, `${where}.${rule.name}`)
  })
}

function parseRule(rule: AlertRule, input: unknown, where: string): AlertRule {
  const counted = [
    ...(rule.windowMs === undefined ? [] : ['window']),
    ...(rule.minVolume === undefined ? [] : ['minVolume', 'minRetries']),
  ]
  const form = readForm(input, where, [...COMMON, ...counted], 'INVALID_OPTION')
  const has = (key: string): boolean => form.has(key)
  const threshold = (key: 'fire' | 'clear' | 'critical'): number =>
    has(key) ? toValue(form.get(key), rule.unit, `${where}.${key}`) : rule[key]
  const ms = (key: string, old: number): number => (has(key) ? toMs(form.get(key), `${where}.${key}`, LIMITS) : old)
  const fire = threshold('fire')
  // Moving `fire` below the default `clear` moves `clear` too.
  const clear = has('clear') ? threshold('clear') : Math.min(rule.clear, fire)
  if (clear > fire) {
    const problem = `clear must not be above fire: expected at most ${shown(fire)}, got ${shown(clear)}`
    throw new ChronosError('INVALID_OPTION', `${where}: ${problem}; below it, the alert has room to waver`)
  }
  return {
    ...rule,
    enabled: has('enabled') ? toSwitch(form.get('enabled'), `${where}.enabled`) : true,
    fire,
    clear,
    critical: threshold('critical'),
    forMs: ms('for', rule.forMs),
    keepMs: ms('keep', rule.keepMs),
    repeat: has('repeat') ? toRepeat(form.get('repeat'), `${where}.repeat`) : rule.repeat,
    ...(has('window') && { windowMs: toMs(form.get('window'), `${where}.window`, WINDOW_LIMITS) }),
    ...atLeast(form.get('minVolume'), 'minVolume', where),
    ...atLeast(form.get('minRetries'), 'minRetries', where),
  }
}

const LIMITS = { max: FOR_MAX_MS }

function atLeast<Key extends string>(value: unknown, key: Key, where: string): { readonly [K in Key]?: number } {
  if (value === undefined) return {}
  checkInteger(value, `${where}.${key}`, 0, VALUE_MAX)
  return { [key]: value } as { readonly [K in Key]?: number }
}

function toValue(value: unknown, unit: Unit, where: string): number {
  if (unit === 'duration') return toMs(value, where)
  if (typeof value === 'number' && value >= 0 && value <= VALUE_MAX) return value
  const what = unit === 'share' ? 'a share such as 0.1 for 10 %' : `a number from 0 to ${VALUE_MAX}`
  throw new ChronosError('INVALID_OPTION', `${where}: expected ${what}, got ${shown(value)}`)
}

function toSwitch(value: unknown, where: string): boolean {
  if (typeof value === 'boolean') return value
  throw new ChronosError('INVALID_OPTION', `${where}: expected true or false, got ${shown(value)}`)
}

function toRepeat(value: unknown, where: string): number | 'doubled' {
  return value === 'doubled' ? value : toMs(value, where, { min: MINUTE_MS })
}

export function checkRuleName(value: unknown, what: string): asserts value is RuleName {
  checkWord(value, RULE_NAMES, what)
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
