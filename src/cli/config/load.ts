import { readFileSync } from 'node:fs'
import { ChronosError, shown } from '../../core/values/error.js'
import { suggest } from '../../core/values/options-reader.js'
import type { Environment, Io } from '../io.js'
import { readConfigFile } from './file.js'
import { SETTING_NAMES, SETTINGS, type SettingName, type Settings } from './settings.js'

/** Who said it, the strongest last. */
export type Level = 'default' | 'file' | 'environment' | 'flag'

export interface Source {
  readonly level: Level
  /** `--port`, `CHRONOS_PORT`, `chronos.config.json`, or `default`. */
  readonly name: string
}

export interface Config {
  readonly settings: Settings
  readonly sources: Readonly<Record<SettingName, Source>>
}

/** What was given on the command line, by the name of the setting; texts mean what they would in the environment. */
export type Flags = Readonly<Partial<Record<SettingName, unknown>>> & { readonly config?: string | undefined }

/** Flag > environment > file > default, for each setting by itself. */
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
  return { settings: settings as unknown as Settings, sources: sources as Config['sources'] }
}

interface Said {
  readonly value: unknown
  readonly source: Source
}

function ofFlag(name: SettingName, given: unknown): Said | undefined {
  if (given === undefined) return undefined
  const value = typeof given === 'string' ? SETTINGS[name].read(given) : given
  return { value, source: { level: 'flag', name: flagOf(name) } }
}

/** `egressAllow` → `--egress-allow`, `retention.dead` → `--retention-dead`. */
const flagOf = (name: string): string =>
  `--${name.replace('.', '-').replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`

/** An empty variable says nothing: compose files and shells leave such behind. */
function ofEnvironment(name: SettingName, env: Environment): Said | undefined {
  const { env: variable, read, isSecret } = SETTINGS[name]
  const [plain, path] = [env[variable] || undefined, (isSecret && env[`${variable}_FILE`]) || undefined]
  if (plain !== undefined && path !== undefined) {
    throw problem(`${variable} and ${variable}_FILE are both set; keep one of them`)
  }
  if (plain !== undefined) return { value: read(plain), source: { level: 'environment', name: variable } }
  if (path === undefined) return undefined
  return {
    value: read(contentOf(path, `${variable}_FILE`)),
    source: { level: 'environment', name: `${variable}_FILE` },
  }
}

function ofFile(name: SettingName, value: unknown, path: string): Said | undefined {
  if (value === undefined) return undefined
  const isAlike = typeof value === 'string' && Array.isArray(SETTINGS[name].otherwise)
  return { value: isAlike ? SETTINGS[name].read(value) : value, source: { level: 'file', name: path } }
}

function contentOf(path: string, variable: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw problem(`${variable}: ${path} can't be read (${(error as Error).message})`)
  }
}

function checked(name: SettingName, { value, source }: Said): unknown {
  const { schema, expects, isSecret } = SETTINGS[name]
  const answer = schema.safeParse(value)
  if (answer.success) return answer.data
  const where = source.level === 'file' ? `${source.name}: ${name}` : source.name
  const got = isSecret ? 'something else' : shown(value)
  throw problem(`${where}: expected ${expects}, got ${got}${hint(name, value)}`)
}

/** A cluster sets it for every Service that is called chronos. */
function hint(name: SettingName, value: unknown): string {
  if (name !== 'port' || typeof value !== 'string' || !value.startsWith('tcp://')) return ''
  return '; Kubernetes has set it for the Service of that name: turn `enableServiceLinks` off'
}

const OTHERS = ['CHRONOS_CONFIG', 'CHRONOS_DEBUG']
const KNOWN = [
  ...OTHERS,
  ...Object.values(SETTINGS).flatMap(({ env, isSecret }) => (isSecret ? [env, `${env}_FILE`] : [env])),
]
const NEAR_MAX = 3

/** A variable that looks like one of ours and is none was probably meant to be one; others may be anybody's. */
function checkVariables(env: Environment): void {
  for (const variable of Object.keys(env)) {
    if (!variable.startsWith('CHRONOS_') || KNOWN.includes(variable)) continue
    const near = suggest(
      variable.slice(8),
      KNOWN.map(known => known.slice(8)),
    )
    if (near === undefined || !isNear(variable.slice(8), near)) continue
    throw problem(`the environment has ${variable}, which means nothing; did you mean CHRONOS_${near}?`)
  }
}

/** Letters that are new, missing or moved; what is longer or other by more is another word. */
function isNear(word: string, known: string): boolean {
  const left = [...known]
  const extra = [...word].filter(letter => {
    const at = left.indexOf(letter)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
  return extra.length + left.length < NEAR_MAX && Math.abs(word.length - known.length) < NEAR_MAX
}

function problem(words: string): ChronosError {
  return new ChronosError('INVALID_OPTION', words)
}
