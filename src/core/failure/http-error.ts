import type { FailureKind } from '../policy/policy.js'

/** What is known about a failed call by the one who made it. */
export interface HttpErrorFacts {
  /** What it is taken for; without it, the code tells. */
  readonly kind?: FailureKind
  readonly status?: number
  readonly code?: string
  /** Whether the request had left when it failed, and nobody knows what became of it. */
  readonly maybeExecuted?: boolean
  readonly timedOut?: boolean
  /** Of the answer: those that say when to come back. */
  readonly headers?: Readonly<Record<string, string>>
}

// By identity, not by name: the errors of other HTTP clients are called the same.
const known = new WeakMap<WeakKey, HttpErrorFacts>()

/** A call that failed where the call is itself the job: an answer that was not hoped for, or none. */
export class HttpError extends Error {
  override readonly name: string
  readonly status?: number
  readonly code?: string
  readonly headers?: Readonly<Record<string, string>>
  /** It would show the insides of this package, and nothing of what went wrong. */
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

/** Never throws, whatever was thrown. */
export function httpErrorFacts(thrown: unknown): HttpErrorFacts | undefined {
  return known.get(thrown as WeakKey)
}
