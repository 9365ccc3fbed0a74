import type { StoredError } from '../job/job.js'
import { cleanText } from '../values/text.js'
import { aggregated, type Link, linksOf, property } from './thrown.js'

/** Their sum, with keys and quotes, stays below 16 KiB of JSON. */
const NAME_BYTES = 256
const CODE_BYTES = 256
const MESSAGE_BYTES = 6_000
const CAUSE_BYTES = 1_000
const STACK_BYTES = 9_000
const HEADLINE_BYTES = 1_000
const KEYS_SHOWN = 10

/** Turns any thrown value into plain data. Never throws; the message is never empty. Equal errors share one object. */
export function toStoredError(thrown: unknown, links: readonly Link[] = linksOf(thrown)): StoredError {
  const link = links[0]!
  const stack = property(link.value, 'stack')
  const message = property(link.value, 'message')
  const isUsual = links.length === 1 && typeof stack === 'string' && typeof message === 'string'
  if (!isUsual || stack.length > RECENT_LENGTH_MAX || link.types.includes('AggregateError')) return converted(links)
  const name = nameOf(link)
  const known = recent.get(stack)
  if (known?.name === name && known.message === message && known.code === link.code && known.status === link.status) {
    return known.stored
  }
  const stored = Object.freeze(converted(links))
  if (recent.size >= RECENT_MAX) recent.clear()
  recent.set(stack, { name, message, code: link.code, status: link.status, stored })
  return stored
}

/** The errors that were converted last, by their stacks: in an outage, many runs fail with the same error. */
const recent = new Map<string, Recent>()
const RECENT_MAX = 200
const RECENT_LENGTH_MAX = 8_000

interface Recent {
  readonly name: string
  readonly message: string
  readonly code: string | undefined
  readonly status: number | undefined
  readonly stored: StoredError
}

function converted(links: readonly Link[]): StoredError {
  const code = links.find(link => link.code !== undefined)?.code
  const status = links.find(link => link.status !== undefined)?.status
  const stack = stackOf(links)
  const error: { -readonly [Field in keyof StoredError]: StoredError[Field] } = {
    name: cleanText(nameOf(links[0]!), NAME_BYTES),
    message: cleanText(links.map(messageOf).join('; caused by: '), MESSAGE_BYTES),
  }
  if (code !== undefined) error.code = cleanText(code, CODE_BYTES)
  if (status !== undefined) error.status = status
  if (stack !== '') error.stack = cleanText(stack, STACK_BYTES)
  return error
}

function nameOf(link: Link): string {
  const name = link.types.find(type => type !== 'Object' && type.trim() !== '')
  // A string or a plain object has no name.
  return typeof link.value === 'object' && name !== undefined ? name : 'NonError'
}

function messageOf(link: Link, i: number): string {
  const text = messageText(link)
  return i === 0 ? text : cleanText(`${nameOf(link)}: ${text}`, CAUSE_BYTES)
}

function messageText(link: Link): string {
  const message = property(link.value, 'message')
  const text = typeof message === 'string' ? cleanText(message, MESSAGE_BYTES) : ''
  const inner = aggregated(link)?.slice(0, 3).map(innerText).join(', ') ?? ''
  if (text.trim() !== '') return inner === '' ? text : `${text} (${inner})`
  if (inner !== '') return inner
  return link.code ?? describe(link)
}

function innerText(error: unknown): string {
  const message = property(error, 'message')
  return typeof message === 'string' && message.trim() !== '' ? cleanText(message, CAUSE_BYTES) : shape(error)
}

function describe({ value, types }: Link): string {
  if (typeof value === 'string') return value.trim() === '' ? 'an empty string was thrown' : value
  if (value === null || value === undefined) return `${value} was thrown`
  if (typeof value === 'function') return 'a function was thrown'
  if (typeof value !== 'object') return String(value) + (typeof value === 'bigint' ? 'n' : '')
  return types.includes('Error') ? 'no message' : `thrown: ${fieldsOf(value)}`
}

/** Shows one level, which is enough to recognise the object and can't recurse endlessly. */
function fieldsOf(value: object): string {
  try {
    const keys = Object.keys(value)
    const shownKeys = keys.slice(0, KEYS_SHOWN).map(key => `${cleanText(key, 100)}: ${shape(property(value, key))}`)
    if (keys.length > KEYS_SHOWN) shownKeys.push('…')
    return shownKeys.length === 0 ? '{}' : `{ ${shownKeys.join(', ')} }`
  } catch {
    return 'an object that can not be read'
  }
}

function shape(value: unknown): string {
  if (typeof value === 'string') return cleanText(value, 200)
  if (typeof value === 'function') return 'function'
  return typeof value === 'object' && value !== null ? '{…}' : String(value)
}

function stackOf(links: readonly Link[]): string {
  const stacks: string[] = []
  for (const { value } of links) {
    const stack = property(value, 'stack')
    if (typeof stack === 'string' && stack !== '') stacks.push(trim(stack))
  }
  return stacks.join('\ncaused by: ')
}

/** A stack repeats the message before its frames; a long message must not push the frames out. */
function trim(stack: string): string {
  const frames = stack.indexOf('\n    at ')
  if (frames < 0) return cleanText(stack, HEADLINE_BYTES)
  const own = OWN_FRAMES.exec(stack)?.index ?? stack.length
  const end = own > frames ? Math.min(own, frames + STACK_BYTES) : frames + STACK_BYTES
  const headline = stack.slice(0, frames)
  const clean = cleanText(headline, HEADLINE_BYTES)
  // Unchanged text stays one slice, because every reader of concatenated text copies it again.
  return clean === headline ? stack.slice(0, end) : clean + stack.slice(frames, end)
}

/** Frames below the handler's call belong to this package, so they are cut. */
const OWN_FRAMES = /\n {4}at (?:async )?(?:Runner\.)?#(?:run|call)HandlerOf /
