import { ChronosError, type ErrorCode } from '../values/error.js'
import { exactJson, fitsUtf8, isPlainObject } from '../values/json.js'

export { canonicalJson } from '../values/json.js'

export const PAYLOAD_MAX_BYTES = 1024 * 1024
export const PAYLOAD_MAX_DEPTH = 64
export const PAYLOAD_MAX_NODES = 100_000

/**
 * Returns JSON text that parses to an equal value, or throws an error that names the invalid part. A value that
 * `JSON.stringify` would change (a Date, a Map, NaN, a hole) is refused: a handler must get what was enqueued. Only
 * undefined properties are dropped, and an undefined payload is `null`.
 */
export function toPayload(value: unknown, what: string): string {
  if (value === undefined) return 'null'
  try {
    return checked(value, what)
  } catch (error) {
    if (error instanceof ChronosError) throw error
    throw new ChronosError('INVALID_PAYLOAD', `${what}: could not be read; give plain data`, { cause: error })
  }
}

function checked(value: unknown, what: string): string {
  const walk: Walk = { nodes: 0, chars: 0, negativeZero: false }
  const flaw = flawOf(value, 1, walk)
  if (flaw !== undefined) throw refused(cycleOf(value, flaw) ?? flaw, what)
  const text = walk.negativeZero ? exactJson(value) : JSON.stringify(value)
  if (!fitsUtf8(text, PAYLOAD_MAX_BYTES)) throw refused(TOO_LARGE, what)
  return text
}

interface Walk {
  nodes: number
  /** Characters of text so far: a lower bound of the size, so that no huge text is ever built. */
  chars: number
  negativeZero: boolean
  /** Set only in the second walk, which looks for a cycle. */
  ancestors?: Set<object>
}

interface Flaw {
  readonly path: string
  readonly says: string
  readonly code: ErrorCode
}

const bad = (says: string, code: ErrorCode = 'INVALID_PAYLOAD'): Flaw => ({ path: '', says, code })
const TOO_LARGE = bad('is over 1 MiB as JSON; store it elsewhere and send a reference', 'PAYLOAD_TOO_LARGE')
const TOO_MANY = bad('has over 100,000 values; store it elsewhere and send a reference', 'PAYLOAD_TOO_LARGE')
const TOO_DEEP = bad(`is nested deeper than ${PAYLOAD_MAX_DEPTH} levels; flatten it`)
const CYCLE = bad('refers back to something that contains it; send an id instead')

function flawOf(value: unknown, depth: number, walk: Walk): Flaw | undefined {
  if (++walk.nodes > PAYLOAD_MAX_NODES) return TOO_MANY
  switch (typeof value) {
    case 'string':
      walk.chars += value.length
      return walk.chars > PAYLOAD_MAX_BYTES ? TOO_LARGE : undefined
    case 'number':
      if (value === 0) walk.negativeZero ||= Object.is(value, -0)
      else if (!Number.isFinite(value)) return bad(`${value} is not JSON; send null or a string`)
      return undefined
    case 'boolean':
      return undefined
    case 'object':
      return value === null ? undefined : flawInside(value, depth, walk)
    case 'bigint':
      return bad('a BigInt is not JSON; send it as a string')
    case 'function':
      return bad('a function is not JSON; remove it')
    case 'symbol':
      return bad('a symbol is not JSON; send it as a string')
    default:
      return bad('undefined is not JSON; send null')
  }
}

function flawInside(value: object, depth: number, walk: Walk): Flaw | undefined {
  if (walk.ancestors?.has(value)) return CYCLE
  if (depth > PAYLOAD_MAX_DEPTH) return TOO_DEEP
  walk.ancestors?.add(value)
  const flaw = Array.isArray(value) ? flawOfItems(value, depth, walk) : flawOfFields(value, depth, walk)
  walk.ancestors?.delete(value)
  return flaw
}

function flawOfItems(items: readonly unknown[], depth: number, walk: Walk): Flaw | undefined {
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    const hole = item === undefined && !(i in items)
    const flaw = hole ? bad('a hole in an array is not JSON; send null') : flawOf(item, depth + 1, walk)
    if (flaw !== undefined) return { ...flaw, path: `[${i}]${flaw.path}` }
  }
  return undefined
}

function flawOfFields(value: object, depth: number, walk: Walk): Flaw | undefined {
  if (!isPlainObject(value)) return bad(instanceProblem(value))
  if (Object.getOwnPropertySymbols(value).length > 0) return bad('has a key that is a symbol; use a string')
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return bad('has a key "__proto__"; rename it')
    walk.chars += key.length
    const field = value[key]
    if (field === undefined) continue
    const flaw = flawOf(field, depth + 1, walk)
    if (flaw !== undefined) return { ...flaw, path: step(key) + flaw.path }
  }
  return undefined
}

function instanceProblem(value: object): string {
  if (value instanceof Date) return 'a Date comes back as text; send toISOString()'
  if (value instanceof Map) return 'a Map is not JSON; send Object.fromEntries(…) or an array'
  if (value instanceof Set) return 'a Set is not JSON; send an array'
  const name: unknown = value.constructor?.name
  const named =
    typeof name === 'string' && name !== '' ? `an instance of ${name.slice(0, 60)}` : 'an instance of a class'
  const wayOut = 'toJSON' in value ? 'send what its toJSON() gives' : 'send a plain object'
  return `${named} would come back as a plain object; ${wayOut}`
}

/** A cycle is first noticed as too much depth. The second, slower walk distinguishes the two. */
function cycleOf(value: unknown, flaw: Flaw): Flaw | undefined {
  if (flaw.says !== TOO_DEEP.says) return undefined
  const found = flawOf(value, 1, { nodes: 0, chars: 0, negativeZero: false, ancestors: new Set() })
  return found?.says === CYCLE.says ? found : undefined
}

function step(key: string): string {
  if (/^[A-Za-z_$][\w$]{0,59}$/.test(key)) return `.${key}`
  return `[${JSON.stringify(key.length > 40 ? `${key.slice(0, 40)}…` : key)}]`
}

function refused(flaw: Flaw, what: string): ChronosError {
  const path = flaw.path.length > 300 ? `${flaw.path.slice(0, 300)}…` : flaw.path
  return new ChronosError(flaw.code, `${what}${path}: ${flaw.says}`, { details: { path: what + path } })
}
