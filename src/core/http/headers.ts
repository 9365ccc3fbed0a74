import { shown } from '../values/error.js'
import { isPlainObject } from '../values/json.js'
import { Flaws, flaw, inside, schema } from '../values/schema.js'

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
const SECRET = /^(?:(?:proxy-)?authorization|cookie|set-cookie2?|(?:x-)?(?:api|auth|access|csrf)[-_]?(?:key)?)$/
const SECRET_PART = /token|secret|password|api[-_]?key|signature/

/** The only definition of a secret header; it also holds for the parameters of a URL. */
export function isSecretHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return SECRET.test(lower) || SECRET_PART.test(lower)
}

/** Refuses headers that would change the framing of a request, or that only Chronos may set. */
export const headers = schema<Readonly<Record<string, string>>>({
  kinds: ['object'],
  expects: 'an object of texts',
  check(given) {
    if (!isPlainObject(given)) throw flaw(`expected ${headers.expects}, got ${shown(given)}`)
    const entries = Object.entries(given)
    if (entries.length > HEADERS_MAX) throw flaw(`${entries.length} headers; at most ${HEADERS_MAX} are sent`)
    const names = new Set<string>()
    let bytes = 0
    for (const [key, value] of entries) {
      const name = checkedName(key)
      if (names.has(name)) throw flaw(`${shown(name)} is given twice; names differ by more than capitals`)
      names.add(name)
      bytes += name.length + checkedValue(name, value).length + 4
    }
    if (bytes <= HEADERS_MAX_BYTES) return given as Record<string, string>
    throw flaw(`${bytes} bytes of headers; at most ${HEADERS_MAX_BYTES} are sent, so move some to the body`)
  },
  json: () => ({ type: 'object', additionalProperties: { type: 'string' } }),
})

function checkedName(given: string): string {
  if (!NAME.test(given)) throw flaw(`${shown(given)} is no name of a header`)
  const name = given.toLowerCase()
  if (OURS.has(name) || OUR_BEGINNINGS.some(beginning => name.startsWith(beginning)) || name === '__proto__') {
    throw flaw(`${shown(given)} is set by Chronos and can't be overridden; remove it`)
  }
  return name
}

function checkedValue(name: string, value: unknown): string {
  if (typeof value === 'string' && VALUE.test(value)) return value
  // The value may be a secret.
  const what = typeof value === 'string' ? 'a text with a line break or another control character' : shown(value)
  throw new Flaws(inside(name, flaw(`expected text of one line in Latin letters, got ${what}`)))
}
