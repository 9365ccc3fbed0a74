import { ChronosError, shown } from '../values/error.js'
import { isPlainObject } from '../values/json.js'

export const HEADERS_MAX = 64
export const HEADERS_MAX_BYTES = 16 * 1024

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/
/** A line break would begin another header, or another request. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Chronos sets these itself: they frame the request, identify the caller, or let a receiver recognise Chronos. */
const OURS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
])
const OUR_BEGINNINGS = ['x-chronos-', 'webhook-', 'proxy-']

/** Their values are credentials: never shown, never stored with an attempt, never sent to another origin. */
const SECRET = /^(?:authorization|cookie|set-cookie2?|(?:x-)?(?:api|auth|access|csrf|secret)[-_]?(?:key|token)?)$/
const SECRET_ENDING = /(?:token|secret|password|api[-_]?key|signature)$/

export function isSecretHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return SECRET.test(lower) || SECRET_ENDING.test(lower)
}

/** Lower-cases the names. Refuses headers that would change the framing of a request, or that only Chronos may set. */
export function parseHeaders(input: unknown, where: string): Readonly<Record<string, string>> {
  if (!isPlainObject(input)) throw refused(`${where}: expected an object of texts, got ${shown(input)}`)
  const entries = Object.entries(input)
  if (entries.length > HEADERS_MAX)
    throw refused(`${where}: ${entries.length} headers; at most ${HEADERS_MAX} are sent`)
  const headers: Record<string, string> = Object.create(null) as Record<string, string>
  let bytes = 0
  for (const [given, value] of entries) {
    const name = checkedName(given, where)
    if (name in headers) throw refused(`${where}: ${shown(name)} is given twice; names differ by more than capitals`)
    if (typeof value !== 'string' || !VALUE.test(value)) {
      // The value may be a secret.
      const what = typeof value === 'string' ? 'a text with a line break or another control character' : shown(value)
      throw refused(`${where}.${name}: expected text of one line in Latin letters, got ${what}`)
    }
    bytes += name.length + value.length + 4
    headers[name] = value
  }
  if (bytes > HEADERS_MAX_BYTES) {
    throw refused(
      `${where}: ${bytes} bytes of headers; at most ${HEADERS_MAX_BYTES} are sent, so move some to the body`,
    )
  }
  return headers
}

function checkedName(given: string, where: string): string {
  if (!NAME.test(given)) throw refused(`${where}: ${shown(given)} is no name of a header`)
  const name = given.toLowerCase()
  if (OURS.has(name) || OUR_BEGINNINGS.some(beginning => name.startsWith(beginning)) || name === '__proto__') {
    throw refused(`${where}: ${shown(given)} is set by Chronos and can't be overridden; remove it`)
  }
  return name
}

function refused(message: string): ChronosError {
  return new ChronosError('INVALID_PAYLOAD', message)
}
