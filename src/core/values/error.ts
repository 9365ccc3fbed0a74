export const ERROR_CODES = [
  'INVALID_OPTION',
  'INVALID_DURATION',
  'INVALID_POLICY',
  'INVALID_PAYLOAD',
  'PAYLOAD_TOO_LARGE',
  'INVALID_RESULT',
  'UNKNOWN_JOB',
  'KEY_CONFLICT',
  /** It was modified since it was read. */
  'VERSION_CONFLICT',
  'NOT_FOUND',
  'NOT_ALLOWED',
  /** A bulk action would change more jobs than its `atMost`. */
  'TOO_MANY_MATCHES',
  'CLOSED',
  'LEASE_LOST',
  'EFFECT_UNKNOWN',
  /** The transaction of a `job.complete` did not commit. */
  'ROLLED_BACK',
  'TIMED_OUT',
  /** The job that a caller waited for died, was cancelled, or ended with an unknown outcome. */
  'JOB_DEAD',
  'JOB_CANCELLED',
  'OUTCOME_UNKNOWN',
  'CANCELLED',
  'STOPPED',
  /** The operation was not performed and may be retried. */
  'STORE_UNAVAILABLE',
  /**
   * The response was lost, so the operation may have been performed. Chronos has repeated it in vain. Repeating the
   * call is safe, except for an enqueue without a `key`, which could create a second job.
   */
  'STORE_UNKNOWN',
  'STORE_FULL',
  'STORE_READ_ONLY',
  'STORE_NOT_A_DATABASE',
  'STORE_CORRUPT',
  'STORE_NEWER',
  'STORE_NOT_SUPPORTED',
  /** A webhook without a signature. */
  'SIGNATURE_MISSING',
  'SIGNATURE_INVALID',
  /** The timestamp of the signature is too old or in the future. */
  'SIGNATURE_EXPIRED',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/** Every error of Chronos: a stable code, and a message that names the setting, the value and a solution. */
export class ChronosError extends Error {
  override readonly name: string = 'ChronosError'
  readonly code: ErrorCode
  /** The facts of the message, for programs. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.details = options.details ?? {}
  }
}

/** Thrown by a handler if no retry can succeed: the job dies at once. */
export class PermanentError extends Error {
  override readonly name: string = 'PermanentError'
}

const SHOWN_MAX = 60

/** A value as error messages show it: short, and without reading the fields of an object. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}…` : value)
    case 'bigint':
      return 'a BigInt'
    case 'symbol':
      return 'a symbol'
    case 'function':
      return 'a function'
    case 'object':
      return value === null ? 'null' : isArray(value) ? 'an array' : 'an object'
    default:
      return Object.is(value, -0) ? '-0' : String(value)
  }
}

function isArray(value: object): boolean {
  try {
    return Array.isArray(value)
  } catch {
    return false // a revoked proxy
  }
}
