import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isPlainObject } from '../../core/values/json.js'
import { checkKeys } from '../../core/values/limits.js'
import { usage } from '../exit.js'
import { SETTING_NAMES, type SettingName } from './settings.js'

const NAMES = ['chronos.config.json', 'chronos.config.mjs'] as const

export interface ConfigFile {
  /** As shown in messages. */
  readonly path: string
  readonly values: ReadonlyMap<SettingName, unknown>
}

/** The named file, or the one in this folder. Checks the names of settings, not their values. */
export async function readConfigFile(named: string | undefined, folder: string): Promise<ConfigFile | undefined> {
  const path = named ?? found(folder)
  if (path === undefined) return undefined
  const content = await contentOf(resolve(folder, path), path)
  return { path, values: flatten(content, path) }
}

function found(folder: string): string | undefined {
  const here = NAMES.filter(name => existsSync(resolve(folder, name)))
  if (here.length < 2) return here[0]
  throw usage(`both ${here.join(' and ')} exist; keep one, or choose one with --config`)
}

async function contentOf(location: string, path: string): Promise<unknown> {
  if (!existsSync(location)) throw usage(`--config: no file ${path}`)
  if (/\.[cm]?js$/.test(path)) return moduleAt(location, path)
  if (!path.endsWith('.json')) throw usage(`--config: expected a file that ends with .json or .mjs, got ${path}`)
  const text = await readFile(location, 'utf8')
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw usage(`${path}: expected JSON (${(error as Error).message})`, error)
  }
}

async function moduleAt(location: string, path: string): Promise<unknown> {
  let loaded: { readonly default?: unknown }
  try {
    loaded = (await import(pathToFileURL(location).href)) as typeof loaded
  } catch (error) {
    throw usage(`cannot load ${path}: ${(error as Error).message}`, error)
  }
  if (loaded.default === undefined) throw usage(`${path}: expected \`export default { … }\``)
  return loaded.default
}

/** `{ retention: { dead: '90d' } }` is the setting `retention.dead`. */
function flatten(content: unknown, path: string): ReadonlyMap<SettingName, unknown> {
  const groups = groupsOf(SETTING_NAMES)
  checkKeys(content, [...groups.keys(), '$schema'], path)
  const values = new Map<SettingName, unknown>()
  for (const [key, value] of Object.entries(content as Record<string, unknown>)) {
    const inside = groups.get(key)
    if (value === undefined || inside === undefined) continue
    if (inside.length === 0) {
      values.set(key as SettingName, value)
      continue
    }
    if (value === false) {
      for (const name of inside) values.set(`${key}.${name}` as SettingName, false)
      continue
    }
    if (!isPlainObject(value)) throw usage(`${path}: ${key}: expected an object with ${inside.join(', ')}`)
    checkKeys(value, inside, `${path}: ${key}`)
    for (const [name, one] of Object.entries(value)) values.set(`${key}.${name}` as SettingName, one)
  }
  return values
}

function groupsOf(names: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>()
  for (const name of names) {
    const [head = '', tail] = name.split('.')
    groups.set(head, [...(groups.get(head) ?? []), ...(tail === undefined ? [] : [tail])])
  }
  return groups
}
