import type { RuleSettings } from '../../../core/alert/form.js'
import { checkRuleName, type RuleView } from '../../../core/alert/settings.js'
import type { Duration } from '../../../core/values/duration.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { usage } from '../../exit.js'
import type { Io } from '../../io.js'
import { type Field, fieldTable, NONE } from '../../list.js'
import type { Cell } from '../../output/print.js'
import { show } from '../../output/show.js'

const FIELDS: readonly Field<RuleView>[] = [
  { title: 'Rule', cell: ({ name }) => ({ text: name, tone: 'strong' }) },
  { title: 'State', cell: ({ enabled }) => (enabled ? 'on' : { text: 'off', tone: 'dim' }) },
  { title: 'Fire above', cell: ({ fire }) => String(fire) },
  { title: 'Clear at', cell: ({ clear }) => String(clear) },
  { title: 'For', cell: rule => spanOf(rule.for) },
  { title: 'Keep', cell: ({ keep }) => spanOf(keep) },
  { title: 'Repeat', cell: ({ repeat }) => repeat as string },
]

export async function listRules(options: BackendOptions, io: Io): Promise<void> {
  await withBackend(options, io, async ({ alerts }) => {
    const data = await alerts.rules()
    show(io, options, { data, page: {} }, style => fieldTable(FIELDS, data, 0, style))
  })
}

const spanOf = (span: Duration): Cell => (span === '0ms' ? NONE : String(span))

interface SetOptions extends BackendOptions {
  readonly fire?: string
  readonly clear?: string
  readonly critical?: string
  readonly for?: Duration
  readonly keep?: Duration
  readonly repeat?: Duration
  readonly window?: Duration
  readonly minRetries?: number
  readonly on?: true
  readonly off?: true
  readonly reset?: true
}

const VALUES = ['fire', 'clear', 'critical'] as const
const OTHERS = ['for', 'keep', 'repeat', 'window', 'minRetries'] as const

export async function setRule(name: string, options: SetOptions, io: Io): Promise<void> {
  checkRuleName(name, 'alerts set')
  const change = changeOf(options)
  await withBackend(options, io, async backend => {
    const rules = await backend.alerts.setRules({ [name]: change })
    const rule = rules.find(each => each.name === name)!
    show(io, options, rule, style => fieldTable(FIELDS, [rule], 0, style))
  })
}

function changeOf(options: SetOptions): RuleSettings | null {
  const settings: Record<string, unknown> = {}
  for (const key of VALUES) if (options[key] !== undefined) settings[key] = thresholdOf(options[key])
  for (const key of OTHERS) if (options[key] !== undefined) settings[key] = options[key]
  if (options.on || options.off) settings['enabled'] = options.on === true
  const isEmpty = Object.keys(settings).length === 0
  if (isEmpty !== (options.reset === true) || (options.on && options.off)) {
    throw usage('alerts set: give a change such as --for 15m or --off, or --reset alone')
  }
  return isEmpty ? null : (settings as RuleSettings)
}

/** `0.1` is a number and `10m` a duration. The rule checks which of them it takes. */
const thresholdOf = (text: string): string | number => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text)
