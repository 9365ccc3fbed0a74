import { readFileSync } from 'node:fs'
import { shown } from '../../core/values/error.js'
import { tryRead } from '../../core/values/schema.js'
import { suggest } from '../../core/values/suggest.js'
import { usage } from '../exit.js'
import type { Environment, Io } from '../io.js'
import { readConfigFile } from './file.js'
import { flagOf, SETTING_NAMES, SETTINGS, type SettingName, type Settings } from './settings.js'

/** The sources of a setting, by increasing precedence. */
export type Level = 'default' | 'file' | 'environment' | 'flag'

export interface Source {
  readonly level: Level
  /** `--port`, `CHRONOS_PORT`, `chronos.config.json`, or `default`. */
  readonly name: string
}

export interface Config {
  readonly settings: Settings
  readonly sources: Readonly<Record<SettingName, Source>>
  /** Variables that Kubernetes has set, which are no settings. */
  readonly ignored: readonly string[]
}

/** Values from the command line, by setting. Strings are parsed like environment variables. */
export type Flags = Readonly<Partial<Record<SettingName, unknown>>> & { readonly config?: string | undefined }

/** Precedence for each setting: flag, environment, file, default. */
export async function loadConfig({ config, ...flags }: Flags, { env, folder }: Io): Promise<Config> {
  checkVariables(env)
  const file = await readConfigFile(config ?? (env['CHRONOS_CONFIG'] || undefined), folder ?? process.cwd())
  const settings: Record<string, unknown> = {}
  const sources: Record<string, Source> = {}
  for (const name of SETTING_NAMES) {
    const said =
      ofFlag(name, flags[name]) ?? ofEnvironment(name, env) ?? (file && ofFile(name, file.values.get(name), file.path))
    settings[name] = said === undefined ? SETTINGS[name].otherwise : checked(name, said)
    sources[name] = said?.source ?? { level: 'default', name: 'default' }
  }
  const ignored = isServiceLink(env[PORT] ?? '') ? [PORT] : []
  return { settings: settings as unknown as Settings, sources: sources as Config['sources'], ignored }
}

interface Said {
  readonly value: unknown
  readonly source: Source
}

function ofFlag(name: SettingName, given: unknown): Said | undefined {
  if (given === undefined) return undefined
  const value = typeof given === 'string' ? parsed(name, given) : given
  return { value, source: { level: 'flag', name: flagOf(name) } }
}

const parsed = (name: SettingName, text: string): unknown => SETTINGS[name].schema.fromText?.(text) ?? text

/** An empty variable counts as not set: compose files and shells often set one. */
function ofEnvironment(name: SettingName, env: Environment): Said | undefined {
  const { env: variable, isSecret } = SETTINGS[name]
  const [plain, path] = [env[variable] || undefined, (isSecret && env[`${variable}_FILE`]) || undefined]
  if (plain !== undefined && path !== undefined) {
    throw usage(`${variable} and ${variable}_FILE are both set; keep one`)
  }
  if (variable === PORT && isServiceLink(plain ?? '')) return undefined
  if (plain !== undefined) return { value: parsed(name, plain), source: { level: 'environment', name: variable } }
  if (path === undefined) return undefined
  return {
    value: parsed(name, contentOf(path, `${variable}_FILE`)),
    source: { level: 'environment', name: `${variable}_FILE` },
  }
}

function ofFile(name: SettingName, value: unknown, path: string): Said | undefined {
  if (value === undefined) return undefined
  const isList = SETTINGS[name].schema.kinds.includes('array')
  return {
    value: isList && typeof value === 'string' ? parsed(name, value) : value,
    source: { level: 'file', name: path },
  }
}

function contentOf(path: string, variable: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw usage(`${variable}: cannot read ${path} (${(error as Error).message})`)
  }
}

function checked(name: SettingName, { value, source }: Said): unknown {
  const { schema, isSecret } = SETTINGS[name]
  const answer = tryRead(schema, value)
  if ('value' in answer) return answer.value
  const where = source.level === 'file' ? `${source.name}: ${name}` : source.name
  // A login may be in any address.
  const plain = typeof value === 'string' ? value.replace(/(\/\/|^).*@/, '$1…@') : value
  const got = isSecret ? 'another value' : shown(plain)
  throw usage(`${where}: expected ${schema.expects}, got ${got}`)
}

const PORT = SETTINGS.port.env

/** Kubernetes sets CHRONOS_PORT=tcp://… in each pod of a namespace that has a Service named chronos. */
const isServiceLink = (text: string): boolean => text.startsWith('tcp://')

const OTHERS = ['CHRONOS_CONFIG', 'CHRONOS_DEBUG']
const KNOWN = [
  ...OTHERS,
  ...Object.values(SETTINGS).flatMap(({ env, isSecret }) => (isSecret ? [env, `${env}_FILE`] : [env])),
]
const NEAR_MAX = 3

/** A variable that differs by a few letters from a known one is probably misspelt. Others may belong to other programs. */
function checkVariables(env: Environment): void {
  for (const variable of Object.keys(env)) {
    if (!variable.startsWith('CHRONOS_') || KNOWN.includes(variable)) continue
    const near = suggest(
      variable.slice(8),
      KNOWN.map(known => known.slice(8)),
    )
    if (near === undefined || !isNear(variable.slice(8), near)) continue
    throw usage(`unknown environment variable ${variable}; did you mean CHRONOS_${near}?`)
  }
}

/** Differs by at most a few added, missing or moved letters. */
function isNear(word: string, known: string): boolean {
  const left = [...known]
  const extra = [...word].filter(letter => {
    const at = left.indexOf(letter)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
  return extra.length + left.length < NEAR_MAX && Math.abs(word.length - known.length) < NEAR_MAX
}
