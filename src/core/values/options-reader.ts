import { ChronosError, type ErrorCode, shown } from './error.js'
import { isPlainObject } from './json.js'
import { suggest } from './suggest.js'

export { suggest } from './suggest.js'

const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** An options object as given: only known keys, each value read once, absent and undefined the same. */
export type Form = ReadonlyMap<string, unknown>

export function readForm(input: unknown, where: string, keys: readonly string[], code: ErrorCode): Form {
  if (!isPlainObject(input)) throw new ChronosError(code, `${where}: expected an object, got ${shown(input)}`)
  const form = new Map<string, unknown>()
  for (const key of Reflect.ownKeys(input)) {
    if (typeof key === 'symbol' || FORBIDDEN.has(key)) {
      throw new ChronosError(code, `${where}: the key ${shown(key)} is not allowed; remove it`)
    }
    if (!keys.includes(key)) throw new ChronosError(code, unknownKey(key, where, keys))
    const value = input[key]
    if (value === null) throw new ChronosError(code, `${where}.${key}: got null; leave it out instead`)
    if (value !== undefined) form.set(key, value)
  }
  return form
}

function unknownKey(key: string, where: string, keys: readonly string[]): string {
  const near = suggest(key, keys)
  const wayOut = near === undefined ? `expected one of ${keys.join(', ')}` : `did you mean "${near}"?`
  return `${where}: unknown key ${shown(key)}; ${wayOut}`
}
