import { isStatus } from '../policy/rules.js'

/** Limits on what is read from a thrown value, which comes from unknown code. */
export const CAUSES_MAX = 10
const PROTOTYPES_MAX = 20
export const AGGREGATED_MAX = 100

/** One error of a chain of causes, read defensively. */
export interface Link {
  readonly value: unknown
  /** Its name, then the names of its classes, most specific first. */
  readonly types: readonly string[]
  readonly code?: string
  readonly status?: number
  /** The system call that failed, as Node names it. */
  readonly syscall?: string
}

/** The thrown value and its causes, outermost first; cycles and endless chains are cut. */
export function linksOf(thrown: unknown): readonly Link[] {
  const links = [linkOf(thrown)]
  let value = property(thrown, 'cause')
  while (value !== undefined && value !== null && links.length <= CAUSES_MAX) {
    const cause = value
    if (links.some(link => link.value === cause)) break
    links.push(linkOf(cause))
    value = property(cause, 'cause')
  }
  return links
}

function linkOf(value: unknown): Link {
  const code = property(value, 'code')
  // HTTP clients put the status on the error, or on the response that they attach to the error.
  const response = property(value, 'response')
  const status = statusOf(value) ?? statusOf(response)
  const syscall = syscallOf(value)
  const link: { -readonly [Field in keyof Link]: Link[Field] } = { value, types: typesOf(value) }
  // The code of a DOMException is a number without meaning here.
  if (typeof code === 'string' && code !== '') link.code = code
  if (status !== undefined) link.status = status
  if (syscall !== undefined) link.syscall = syscall
  return link
}

function statusOf(value: unknown): number | undefined {
  if (value === undefined) return undefined
  const status = property(value, 'status')
  if (isStatus(status)) return status
  const statusCode = property(value, 'statusCode')
  return isStatus(statusCode) ? statusCode : undefined
}

/** Clients that wrap an error keep its message (`connect ETIMEDOUT 10.0.0.1:443`) and drop its code. */
function syscallOf(value: unknown): string | undefined {
  const syscall = property(value, 'syscall')
  if (typeof syscall === 'string') return syscall
  const message = property(value, 'message')
  return typeof message === 'string' ? /^([a-z]\w{2,15}) E[A-Z]/.exec(message)?.[1] : undefined
}

/** A header of the response that an error carries, for each way in which clients store headers. */
export function headerOf({ value }: Link, name: string): unknown {
  for (const holder of [value, property(value, 'response')]) {
    const headers = property(holder, 'headers')
    const found = gotten(headers, name) ?? property(headers, name) ?? property(headers, titled(name))
    if (typeof found === 'string' || typeof found === 'number') return found
  }
  return undefined
}

/** `retry-after` → `Retry-After` */
function titled(name: string): string {
  return name.replace(/(?:^|-)[a-z]/g, start => start.toUpperCase())
}

function gotten(headers: unknown, name: string): unknown {
  const get = property(headers, 'get')
  if (typeof get !== 'function') return undefined
  try {
    return get.call(headers, name) ?? undefined
  } catch {
    return undefined
  }
}

/** Reads a property of any value; one whose getter or proxy throws is undefined. */
export function property(value: unknown, key: string): unknown {
  if (!isReference(value)) return undefined
  try {
    return (value as Readonly<Record<string, unknown>>)[key]
  } catch {
    return undefined
  }
}

/** The errors inside an AggregateError; undefined for any other value, and if there are too many. */
export function aggregated(link: Link): readonly unknown[] | undefined {
  if (!link.types.includes('AggregateError')) return undefined
  const errors = property(link.value, 'errors')
  const length = property(errors, 'length')
  if (typeof length !== 'number' || !(length > 0 && length <= AGGREGATED_MAX)) return undefined
  return Array.from({ length: Math.floor(length) }, (_, i) => property(errors, String(i)))
}

function typesOf(value: unknown): readonly string[] {
  if (!isReference(value)) return []
  const name = property(value, 'name')
  const classes = classesOf(value)
  if (typeof name !== 'string' || name === '' || name === classes[0]) return classes
  return [name, ...classes.filter(one => one !== name)]
}

/**
 * Cached by the first prototype: thrown values have few classes, and walking the prototypes is most of the work of
 * reading one.
 */
const known = new WeakMap<object, readonly string[]>()

function classesOf(value: object): readonly string[] {
  const names: string[] = []
  try {
    const first: unknown = Object.getPrototypeOf(value)
    if (!isReference(first)) return names
    const seen = known.get(first)
    if (seen) return seen
    known.set(first, names)
    let prototype: unknown = first
    for (let i = 0; i < PROTOTYPES_MAX && isReference(prototype); i++) {
      const name = property(Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value, 'name')
      if (typeof name === 'string' && name !== '' && !names.includes(name)) names.push(name)
      prototype = Object.getPrototypeOf(prototype)
    }
  } catch {
    // The proxy threw; the names that were read before it did are kept.
  }
  return names
}

function isReference(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}
