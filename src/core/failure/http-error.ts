import type { FailureKind } from '../policy/policy.js'

/** What the caller knows about a failed HTTP call. */
export interface HttpErrorFacts {
  /** The kind of failure; if absent, the code decides. */
  readonly kind?: FailureKind
  readonly status?: number
  readonly code?: string
  /** Whether the request was sent before the call failed, so that its outcome is unknown. */
  readonly maybeExecuted?: boolean
  readonly timedOut?: boolean
  /** The response headers that say when to retry. */
  readonly headers?: Readonly<Record<string, string>>
}

// Compared by identity, because other HTTP clients use the same error name.
const known = new WeakMap<WeakKey, HttpErrorFacts>()

/** A failed call of a job that is itself an HTTP call: an unexpected response, or none. */
export class HttpError extends Error {
  override readonly name: string
  readonly status?: number
  readonly code?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A stack would show only internals of this package. */
  override readonly stack = ''

  constructor(message: string, facts: HttpErrorFacts) {
    super(message)
    this.name = facts.timedOut ? 'TimeoutError' : 'HttpError'
    if (facts.status !== undefined) this.status = facts.status
    if (facts.code !== undefined) this.code = facts.code
    if (facts.headers !== undefined) this.headers = facts.headers
    known.set(this, facts)
  }
}

/** Never throws. */
export function httpErrorFacts(thrown: unknown): HttpErrorFacts | undefined {
  return known.get(thrown as WeakKey)
}
