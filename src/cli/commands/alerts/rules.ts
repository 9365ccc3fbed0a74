import { checkRuleName, type RuleSettings, type RuleView } from '../../../core/alert/rules.js'
import type { Duration } from '../../../core/values/duration.js'
import { ChronosError } from '../../../core/values/error.js'
import { withBackend } from '../../backend/backend.js'
import type { Io } from '../../io.js'
import { type Cell, type Style, table } from '../../output/print.js'
import { show } from '../../output/show.js'
import type { AlertOptions } from './list.js'

export async function listRules(options: AlertOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const data = await backend.alerts.rules()
    show(io, options, { data, page: {} }, style => ruleTable(data, style))
  })
}

function ruleTable(rules: readonly RuleView[], style: Style): string {
  const columns = ['Rule', 'State', 'Above', 'Ends at', 'For', 'Keep', 'Again'].map(title => ({ title }))
  const rows = rules.map((rule): Cell[] => [
    { text: rule.name, tone: 'strong' },
    rule.enabled ? 'on' : { text: 'off', tone: 'dim' },
    String(rule.fire),
    String(rule.clear),
    spanOf(rule.for),
    spanOf(rule.keep),
    rule.repeat as string,
  ])
  return table(columns, rows, { ...style, boxes: false })
}

const spanOf = (span: Duration): Cell => (span === '0ms' ? { text: '-', tone: 'dim' } : String(span))

interface SetOptions extends AlertOptions {
  readonly fire?: string
  readonly clear?: string
  readonly critical?: string
  readonly for?: Duration
  readonly keep?: Duration
  readonly repeat?: Duration
  readonly on?: true
  readonly off?: true
  readonly reset?: true
}

const VALUES = ['fire', 'clear', 'critical'] as const
const DURATIONS = ['for', 'keep', 'repeat'] as const

export async function setRule(name: string, options: SetOptions, io: Io): Promise<void> {
  checkRuleName(name, 'alerts set')
  const change = changeOf(options)
  await withBackend(options, io, async backend => {
    const rules = await backend.alerts.setRules({ [name]: change })
    const rule = rules.find(each => each.name === name)!
    show(io, options, rule, style => ruleTable([rule], style))
  })
}

function changeOf(options: SetOptions): RuleSettings | null {
  const settings: Record<string, unknown> = {}
  for (const key of VALUES) if (options[key] !== undefined) settings[key] = thresholdOf(options[key])
  for (const key of DURATIONS) if (options[key] !== undefined) settings[key] = options[key]
  if (options.on || options.off) settings['enabled'] = options.on === true
  const isEmpty = Object.keys(settings).length === 0
  if (isEmpty !== (options.reset === true) || (options.on && options.off)) {
    throw new ChronosError('INVALID_OPTION', 'alerts set: give what to change (--for 15m, --off, …), or --reset alone')
  }
  return isEmpty ? null : (settings as RuleSettings)
}

/** `0.1` is a number and `10m` a duration; which of them a rule takes it says itself. */
const thresholdOf = (text: string): string | number => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text)
