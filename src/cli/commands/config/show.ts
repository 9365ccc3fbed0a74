import { present } from '../../../core/values/present.js'
import { type BackendOptions, configOf } from '../../backend/store-address.js'
import { SETTING_NAMES, SETTINGS, type SettingName } from '../../config/settings.js'
import type { Io } from '../../io.js'
import { type Cell, type Style, table } from '../../output/print.js'
import { show } from '../../output/show.js'

interface SettingView {
  readonly name: SettingName
  /** Null if it is not set. A secret is hidden. */
  readonly value: unknown
  readonly source: string
  readonly env: string
  readonly isSecret?: true
}

export async function showConfig(options: BackendOptions, io: Io): Promise<void> {
  const { settings, sources } = await configOf(options, io)
  const data = SETTING_NAMES.map((name): SettingView => {
    const { env, isSecret } = SETTINGS[name]
    const value = settings[name] ?? null
    return {
      name,
      value: isSecret ? masked(value) : value,
      source: sources[name].name,
      env,
      ...present({ isSecret }),
    }
  })
  show(io, options, { data }, style => settingTable(data, style))
}

const HIDDEN = '•••'

/** In the URL of a store only the password is a secret. */
function masked(value: unknown): unknown {
  if (typeof value !== 'string') return value === null ? null : HIDDEN
  if (value.startsWith('sqlite:')) return value
  if (!/^postgres(ql)?:\/\//.test(value)) return HIDDEN
  try {
    const url = new URL(value)
    if (url.password !== '') url.password = 'HIDDEN'
    for (const name of url.searchParams.keys()) if (/pass|key|secret/i.test(name)) url.searchParams.set(name, 'HIDDEN')
    return url.href.replaceAll('HIDDEN', HIDDEN)
  } catch {
    return HIDDEN
  }
}

function settingTable(settings: readonly SettingView[], style: Style): string {
  const columns = [
    { title: 'Setting' },
    { title: 'Value', wraps: true },
    { title: 'Source' },
    { title: 'Environment' },
  ] as const
  const rows = settings.map(({ name, value, source, env }): Cell[] => [
    name,
    valueCell(value, style),
    source === 'default' ? { text: source, tone: 'dim' } : { text: source, tone: 'strong' },
    { text: env, tone: 'dim' },
  ])
  return table(columns, rows, { ...style, boxes: false })
}

function valueCell(value: unknown, { unicode }: Style): Cell {
  if (value === null || (Array.isArray(value) && value.length === 0)) return { text: '-', tone: 'dim' }
  if (value === HIDDEN) return unicode ? HIDDEN : '(secret)'
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
