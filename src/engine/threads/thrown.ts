import type { FlatError } from './message.js'

/** The error of a thread as the policy's rules read it: with its fields, and the names of its classes. */
export function revived(flat: FlatError): unknown {
  if (!('fields' in flat)) return flat.thrown
  const { classes, fields, response, cause, errors } = flat
  const error: object = Object.create(prototypeOf(classes))
  for (const [name, value] of Object.entries({ ...fields, response })) {
    if (value !== undefined) define(error, name, value)
  }
  if (cause) define(error, 'cause', revived(cause))
  if (errors) define(error, 'errors', errors.map(revived))
  return error
}

/** The first class that exists here is the real one, so that `instanceof` works; those before it have only a name. */
function prototypeOf(classes: readonly string[]): object {
  const [name, ...rest] = classes
  if (name === undefined) return Object.prototype
  const real: unknown = (globalThis as Readonly<Record<string, unknown>>)[name]
  if (typeof real === 'function' && (real === Error || real.prototype instanceof Error)) return real.prototype
  return Object.create(prototypeOf(rest), { constructor: { value: { name } } })
}

function define(error: object, name: string, value: unknown): void {
  Object.defineProperty(error, name, { value, enumerable: false, configurable: true, writable: true })
}

/** An error of this side for the thread. */
export function flattened(error: unknown): FlatError {
  if (!(error instanceof Error)) return { thrown: error }
  const { name, message } = error
  const { code } = error as { code?: unknown }
  return { classes: [name, 'Error'], fields: { name, message, ...(typeof code === 'string' && { code }) } }
}
