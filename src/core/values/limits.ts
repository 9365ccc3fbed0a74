import { ChronosError, shown } from './error.js'
import { integer, pattern, text } from './schema.js'
import { list } from './shape.js'
import { hintFor, type WordHints } from './suggest.js'

/** Limits of all input. */
export const NAME_LENGTH_MAX = 128
export const TEXT_LENGTH_MAX = 1024
export const TAGS_MAX = 16
export const TAG_LENGTH_MAX = 64
export const BATCH_MAX = 10_000
export const PAGE_MAX = 200

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/
const JOB_NAME = /^[A-Za-z0-9]([A-Za-z0-9._:/ -]*[A-Za-z0-9._:/-])?$/

/** Names of queues, and ids of schedules. */
export const name = pattern(
  NAME_LENGTH_MAX,
  NAME,
  `1 to ${NAME_LENGTH_MAX} letters, digits or . _ : / - that begin with a letter or digit`,
)
/** Names of jobs may contain spaces: `Critical Task`. */
export const jobName = pattern(
  NAME_LENGTH_MAX,
  JOB_NAME,
  `1 to ${NAME_LENGTH_MAX} letters, digits, spaces or . _ : / - that begin with a letter or digit and do not end with a space`,
)
/** How many items a page of a list has. */
export const pageLimit = integer(1, PAGE_MAX)
/** Keys, tenants and other text that is only compared. */
export const freeText = text(TEXT_LENGTH_MAX)
export const tags = list(text(TAG_LENGTH_MAX), { max: TAGS_MAX, of: 'tags' })

/** Refuses unknown options, so that a misspelt one does not silently use the default. */
export function checkKeys(options: unknown, known: readonly string[], where: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ChronosError('INVALID_OPTION', `${where}: expected an object of options, got ${shown(options)}`)
  }
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue
    throw new ChronosError('INVALID_OPTION', `${where}: unknown option "${key}"; ${wayOut(key, known)}`)
  }
}

export function checkWord(word: unknown, known: readonly string[], what: string, hints?: WordHints): void {
  if (known.includes(word as string)) return
  throw new ChronosError('INVALID_OPTION', `${what}: there is no ${shown(word)}; ${wayOut(String(word), known, hints)}`)
}

function wayOut(word: string, known: readonly string[], hints?: WordHints): string {
  return hintFor(word, known, hints) ?? `known are ${known.join(', ')}`
}
