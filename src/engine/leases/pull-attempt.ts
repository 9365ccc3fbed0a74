import { failedOutcome, toStoredError } from '../../core/failure/outcome.js'
import type { StoredError } from '../../core/job/job.js'
import type { Outcome } from '../../core/job/lifecycle.js'
import type { ReportedError } from '../../core/lease/options.js'
import type { Policy } from '../../core/policy/policy.js'
import { present } from '../../core/values/present.js'
import { cleanText } from '../../core/values/text.js'
import type { Claimed } from '../../store/store.js'
import { type JobDefinition, TIMEOUT_DEFAULT_MS } from '../client/definition.js'
import { Attempt, type AttemptPort, interruptionError } from '../worker/attempt.js'

/** The same limit as for any stored stack. */
const STACK_BYTES = 9_000

const notHere = (): never => {
  throw new Error('the handler of a pull worker runs elsewhere')
}
const NOWHERE: AttemptPort = { wait: notHere, now: notHere, complete: notHere, hasNews: notHere, runOnce: notHere }

/** The run of a pull worker as an `Attempt`, so that its end follows the same rules. */
export function pullAttempt(claimed: Claimed, policy: Policy): Attempt {
  const { name, queue, leaseUntil, startedAt = 0, deadline = Number.POSITIVE_INFINITY } = claimed
  const definition: JobDefinition = {
    name,
    queue,
    delivery: 'at-least-once',
    timeoutMs: TIMEOUT_DEFAULT_MS,
    handler: notHere,
  }
  const held = { claimed, heldSince: startedAt, leaseUntil, startBefore: deadline }
  const attempt = new Attempt(held, definition, policy, NOWHERE)
  attempt.startedAt = startedAt
  attempt.begun = claimed.begun
  attempt.hasStarted = true
  if (claimed.cancelRequested) attempt.interrupt('cancelled', interruptionError('cancelled', attempt))
  return attempt
}

/** The error that a worker reported, as a thrown error: policy rules and functions expect one. */
export function asThrown({ name, message, code, status }: ReportedError): Error {
  return Object.assign(new Error(message), {
    name: name || 'Error',
    stack: '',
    ...present({ code, status }),
  })
}

/** The outcome of a run whose worker reported this error. The worker's `retryable` overrides every rule. */
export function reportedOutcome(
  reported: ReportedError,
  retryAfterMs: number | undefined,
  policy: Policy,
  now: number,
): Extract<Outcome, { kind: 'failed' }> {
  const thrown = asThrown(reported)
  const judged = failedOutcome(thrown, policy.rules ?? [], now)
  const error = withStack(toStoredError(thrown), reported.stack)
  const word = wordOf(reported, retryAfterMs, error)
  return {
    ...judged,
    error,
    ...(word && { classification: word }),
    ...present({ retryAfterMs }),
  }
}

function wordOf(
  { retryable }: ReportedError,
  retryAfterMs: number | undefined,
  { code, name }: StoredError,
): Extract<Outcome, { kind: 'failed' }>['classification'] | undefined {
  const rule = `handler: ${code ?? name}`
  if (retryable === false) return { kind: 'permanent', rule }
  if (retryAfterMs !== undefined) return { kind: 'throttled', rule: 'handler: RetryAfter' }
  return retryable ? { kind: 'transient', rule } : undefined
}

/** Stacks of other languages have other formats and are stored as they are. */
function withStack({ stack: _, ...error }: StoredError, stack: string | undefined): StoredError {
  return stack === undefined || stack.trim() === '' ? error : { ...error, stack: cleanText(stack, STACK_BYTES) }
}
