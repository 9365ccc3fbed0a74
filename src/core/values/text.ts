/**
 * External text, made safe for databases and terminals: valid Unicode, no NUL, and at
 * most `bytes` long as JSON, where a control character takes six.
 */
export function cleanText(text: string, bytes: number): string {
  // The common case: short enough for any characters, and nothing to fix.
  if (text.length * CHARACTER_BYTES_MAX <= bytes && !MAY_NEED_FIXING.test(text)) return text
  // Cut first, so that the rest does not depend on the length of the text.
  const head = text.length > bytes ? text.slice(0, bytes) : text
  const clean = MAY_NEED_FIXING.test(head) ? head.replace(/\p{Surrogate}/gu, '\uFFFD').replaceAll('\0', '\u2400') : head
  const end = fittingLength(clean, bytes)
  if (end === clean.length && head.length === text.length) return clean
  return `${clean.slice(0, fittingLength(clean, bytes - ELLIPSIS_BYTES))}…`
}

const ELLIPSIS_BYTES = 3
const CHARACTER_BYTES_MAX = 6
const MAY_NEED_FIXING = /[\0\ud800-\udfff]/

/** How many code units fit; never splits a surrogate pair. `text` is well-formed. */
function fittingLength(text: string, bytes: number): number {
  let used = 0
  let i = 0
  while (i < text.length) {
    const unit = text.charCodeAt(i)
    const pair = unit >= 0xd800 && unit <= 0xdfff
    used += pair ? 4 : jsonBytes(unit)
    if (used > bytes) return i
    i += pair ? 2 : 1
  }
  return i
}

function jsonBytes(unit: number): number {
  if (unit === 0x22 || unit === 0x5c || unit === 0x0a || unit === 0x09 || unit === 0x0d) return 2
  if (unit < 0x20) return 6
  if (unit < 0x80) return 1
  return unit < 0x800 ? 2 : 3
}
