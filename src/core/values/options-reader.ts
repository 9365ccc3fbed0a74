import { ChronosError, type ErrorCode, shown } from './error.js'
import { isPlainObject } from './json.js'

const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** What somebody wrote as `{ … }`: only known keys, each value read once, absent and undefined the same. */
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

/** The word that was probably meant, if one is close enough. */
export function suggest(word: string, words: readonly string[]): string | undefined {
  if (word.length > 50) return undefined
  let best: string | undefined
  let least = Math.max(2, Math.ceil(word.length * 0.4)) + 1
  for (const candidate of words) {
    const edits = distance(word.toLowerCase(), candidate.toLowerCase())
    if (edits < least && edits < candidate.length) {
      best = candidate
      least = edits
    }
  }
  return best
}

/** Insertions, deletions and replacements from one word to the other (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replace = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replace, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}
