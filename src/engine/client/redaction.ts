import { stdSerializers } from 'pino'

const REDACTED = '[redacted]'

/** Field names of secrets, at any depth: libraries attach all kinds of fields to errors. */
const SECRET =
  /^(?:proxy-?)?authorization$|^(?:set-?)?cookies?$|pass(?:word|wd|phrase)|secret|^(?:.*[-_])?tokens?$|(?:access|refresh|id|bearer|auth|session)token$|api[-_]?key|private[-_]?key|^payload$/i
/** Credentials in a URL inside a text: `postgres://user:password@host`. */
const LOGIN = /(\b[a-z][a-z0-9+.-]{1,15}:\/\/)[^\s/?#@"']{1,200}@/gi
/** Control characters, which could move the cursor of a terminal or change its colours. */
const CONTROL = /[\p{Cc}\u2028\u2029]/gu
const LINE_BREAKS: readonly string[] = ['\n', '\t']

const DEPTH_MAX = 6
const FIELDS_MAX = 100

type Text = (text: string) => string

/**
 * The fields of a log line without secrets, payloads and credentials in URLs. Most lines have none of them and are
 * returned as they are: a copy costs more than the rest of the line.
 */
export function redacted(fields: object): Record<string, unknown> {
  return isClean(fields, 0) ? (fields as Record<string, unknown>) : copy(fields, 0, withoutLogin)
}

/** The same without control characters, so that an error text can't control the operator's terminal. */
export function redactedForTerminal(fields: object): Record<string, unknown> {
  return copy(fields, 0, text => withoutLogin(text).replace(CONTROL, visible))
}

/** Few texts contain a URL, and checking for one takes a tenth of the time. */
const withoutLogin: Text = text => (text.includes('://') ? text.replace(LOGIN, `$1${REDACTED}@`) : text)

/** Cached, because there are few field names and they repeat in every line. */
const secrecy = new Map<string, boolean>()
const NAMES_MAX = 500

function isSecret(name: string): boolean {
  let known = secrecy.get(name)
  if (known === undefined) {
    known = SECRET.test(name)
    if (secrecy.size >= NAMES_MAX) secrecy.clear()
    secrecy.set(name, known)
  }
  return known
}

function visible(character: string): string {
  return LINE_BREAKS.includes(character) ? character : `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
}

function copy(value: object, depth: number, text: Text): Record<string, unknown> {
  const fields = value as Readonly<Record<string, unknown>>
  const copied: Record<string, unknown> = {}
  let left = FIELDS_MAX
  // Runs for every log line, and `Object.entries` takes twice as long.
  for (const name of Object.keys(fields)) {
    if (left-- === 0) break
    const each = isSecret(name) ? REDACTED : plain(fields[name], depth + 1, text)
    // Defined like any other field, because assigning it would set the prototype.
    if (name === '__proto__') Object.defineProperty(copied, name, { ...OWN, value: each })
    else copied[name] = each
  }
  return copied
}

/** Whether a copy would be equal. Errors, lists and unusual fields are copied, so that this stays simple. */
function isClean(value: object, depth: number): boolean {
  const fields = value as Readonly<Record<string, unknown>>
  let left = FIELDS_MAX
  for (const name of Object.keys(fields)) {
    if (left-- === 0 || isSecret(name)) return false
    const each = fields[name]
    if (typeof each === 'string' ? each.includes('://') : !isCleanValue(each, depth + 1)) return false
  }
  return true
}

function isCleanValue(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === Object.prototype || prototype === null
  return isPlain && depth <= DEPTH_MAX && !('toJSON' in value) && isClean(value, depth)
}

const OWN = { configurable: true, enumerable: true, writable: true }

function plain(value: unknown, depth: number, text: Text): unknown {
  if (typeof value === 'string') return text(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > DEPTH_MAX) return '…'
  if (value instanceof Error) return copy(stdSerializers.err(value), depth, text)
  if (Array.isArray(value)) return value.slice(0, FIELDS_MAX).map(each => plain(each, depth + 1, text))
  // Others serialize themselves: a date, a URL, a buffer.
  return 'toJSON' in value ? value : copy(value, depth, text)
}
