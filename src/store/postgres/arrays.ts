import { toText } from '../columns.js'

// The columns of a batch are sent as one array each. They are serialized here because the driver takes several times
// as long.

/** Stands for a column in which every value is NULL: `unnest` pads the shorter arrays. */
const ALL_NULL = '{}'

export function numbers(values: readonly (number | null | undefined)[]): string {
  return bare(values)
}

/** Booleans that may be absent. */
export function flags(values: readonly (boolean | undefined)[]): string {
  return bare(values)
}

function bare(values: readonly (number | boolean | null | undefined)[]): string {
  if (values.every(value => value == null)) return ALL_NULL
  return `{${values.map(value => value ?? 'NULL').join(',')}}`
}

export function booleans(values: readonly boolean[]): string {
  return values.includes(true) ? `{${values.join(',')}}` : ALL_NULL
}

/** Encodes arbitrary text (`toText`). */
export function texts(values: readonly (string | null | undefined)[]): string {
  return words(values.map(value => (value == null ? value : toText(value))))
}

/** Texts that need no encoding: constants of this code, or JSON. */
export function words(values: readonly (string | null | undefined)[]): string {
  return written(values, quoted)
}

/** JSON text needs no further escaping inside an array, so the faster JSON quoting can be used. */
export function jsons(values: readonly (string | null | undefined)[]): string {
  return written(values, JSON.stringify)
}

function written(values: readonly (string | null | undefined)[], quote: (text: string) => string): string {
  if (values.every(value => value == null)) return ALL_NULL
  // States and errors often repeat in a row, so the last one is quoted once.
  let last: string | undefined
  let lastQuoted = ''
  const parts = values.map(value => {
    if (value == null) return 'NULL'
    if (value !== last) {
      last = value
      lastQuoted = quote(value)
    }
    return lastQuoted
  })
  return `{${parts.join(',')}}`
}

const SPECIAL = /["\\]/
const EVERY_SPECIAL = /["\\]/g

function quoted(text: string): string {
  return `"${SPECIAL.test(text) ? text.replace(EVERY_SPECIAL, '\\$&') : text}"`
}

const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i

/** A text that is not a UUID is not the id of a job, and the database would reject the whole batch because of it. */
export function isId(id: string): boolean {
  return UUID.test(id)
}

export function ids(values: readonly string[]): string {
  return `{${values.filter(isId).join(',')}}`
}
