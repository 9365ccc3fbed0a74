/** A record of plain data: `{…}`, from this realm or another, or one without a prototype. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** The same JSON with sorted keys and no spaces, for hashing: equal values give equal text. */
export function canonicalJson(text: string): string {
  return writeJson(JSON.parse(text), keys => keys.sort(), JSON.stringify)
}

/** Like `JSON.stringify` of plain data, but it keeps the sign of `-0`. */
export function exactJson(value: unknown): string {
  return writeJson(
    value,
    keys => keys,
    number => (Object.is(number, -0) ? '-0' : JSON.stringify(number)),
  )
}

function writeJson(value: unknown, order: (keys: string[]) => string[], number: (value: number) => string): string {
  if (typeof value === 'number') return number(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(item => writeJson(item, order, number)).join(',')}]`
  const record = value as Record<string, unknown>
  const fields = order(Object.keys(record))
    .filter(key => isWritten(record[key]))
    .map(key => `${JSON.stringify(key)}:${writeJson(record[key], order, number)}`)
  return `{${fields.join(',')}}`
}

function isWritten(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}

/** Whether text takes at most this many bytes as UTF-8; counts only if the length is not conclusive. */
export function fitsUtf8(text: string, bytes: number): boolean {
  if (text.length * 3 <= bytes) return true
  return text.length <= bytes && utf8Bytes(text) <= bytes
}

export function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : 2
    // A pair takes four bytes together; a lone half becomes U+FFFD, which takes three.
    if (unit >= 0xd800 && unit <= 0xdbff && isLowSurrogate(text.charCodeAt(i + 1))) i++
  }
  return bytes
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** Strings (a key is one before a colon), numbers and marks of valid JSON. */
const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|-?\d[\d.eE+-]*|[[\]{},]/g

export interface InexactInteger {
  readonly path: readonly (string | number)[]
  readonly says: string
}

/** The first integer in valid JSON text that `JSON.parse` would round, such as an id above 2^53. */
export function inexactInteger(text: string): InexactInteger | undefined {
  if (!/\d{16}/.test(text)) return undefined
  const path: (string | number)[] = []
  for (const [token, string, colon] of text.matchAll(TOKEN)) {
    if (colon !== undefined) path[path.length - 1] = JSON.parse(string!) as string
    else if (token === '[' || token === '{') path.push(token === '[' ? 0 : '')
    else if (token === ']' || token === '}') path.pop()
    else if (token === ',') nextItem(path)
    else if (isRounded(token)) {
      const number = token.length > 40 ? `${token.slice(0, 40)}…` : token
      return { path: [...path], says: `${number} would be rounded to ${Number(token)}; send it as a string` }
    }
  }
  return undefined
}

function nextItem(path: (string | number)[]): void {
  const last = path.at(-1)
  if (typeof last === 'number') path[path.length - 1] = last + 1
}

function isRounded(token: string): boolean {
  if (token.length < 16 || !/^-?\d+$/.test(token)) return false
  const number = Number(token)
  return String(number) !== token && !(Number.isFinite(number) && BigInt(number) === BigInt(token))
}
