import { toText } from '../columns.js'

// Columns of a batch travel as one array each, written here because the driver takes several times as long.

/** Stands for a column of which every value is NULL: `unnest` fills up the shorter of its arrays. */
const ALL_NULL = '{}'

export function numbers(values: readonly (number | null | undefined)[]): string {
  if (values.every(value => value == null)) return ALL_NULL
  return `{${values.map(value => value ?? 'NULL').join(',')}}`
}

export function booleans(values: readonly boolean[]): string {
  return values.includes(true) ? `{${values.join(',')}}` : ALL_NULL
}

/** Texts of anybody, made safe to keep. */
export function texts(values: readonly (string | null | undefined)[]): string {
  return words(values.map(value => (value == null ? value : toText(value))))
}

/** Texts that are safe already: of this code, or JSON. */
export function words(values: readonly (string | null | undefined)[]): string {
  return written(values, quoted)
}

/** JSON, which has no character of its own that an array would need another escape for: so JSON quotes it, and faster. */
export function jsons(values: readonly (string | null | undefined)[]): string {
  return written(values, JSON.stringify)
}

function written(values: readonly (string | null | undefined)[], quote: (text: string) => string): string {
  if (values.every(value => value == null)) return ALL_NULL
  // A state, or the error of all who call what is down: the same many times in a row, and then quoted once.
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

/** What is no UUID is the id of no job, and must not reach the database, which would refuse the whole batch. */
export function isId(id: string): boolean {
  return UUID.test(id)
}

export function ids(values: readonly string[]): string {
  return `{${values.filter(isId).join(',')}}`
}
