import type { Outcome } from '../../core/job/lifecycle.js'
import { present } from '../../core/values/present.js'
import { factsOf } from '../client/job-facts.js'
import type { Log } from '../client/log.js'
import type { Attempt } from './attempt.js'

/** The argument of a custom backoff function. The function returns milliseconds, or null for "no further retry". */
export interface BackoffContext {
  /** 1 follows the first failure. */
  readonly retry: number
  readonly attempt: number
  readonly error: unknown
  readonly previousDelayMs?: number
  readonly jobName: string
}

export type CustomBackoffs = Readonly<Record<string, (context: BackoffContext) => number | null>>

/** Adds the delay of the policy's custom backoff, if it has one. Without a usable delay the standard backoff applies. */
export function withCustomDelay(
  backoffs: CustomBackoffs,
  attempt: Attempt,
  error: unknown,
  outcome: Extract<Outcome, { kind: 'failed' | 'timed-out' }>,
  log: Log,
): Outcome {
  const delayMs = customDelayMs(backoffs, attempt, error, log)
  return delayMs === undefined ? outcome : { ...outcome, customDelayMs: delayMs }
}

function customDelayMs(
  backoffs: CustomBackoffs,
  attempt: Attempt,
  error: unknown,
  log: Log,
): number | null | undefined {
  const { backoff } = attempt.policy
  if (backoff.type !== 'custom') return undefined
  const calculate = Object.hasOwn(backoffs, backoff.name) ? backoffs[backoff.name] : undefined
  const { name: jobName, attempt: number } = attempt
  const facts = { ...factsOf('backoff.invalid', attempt.claimed), backoff: backoff.name }
  try {
    const previousDelayMs = attempt.claimed.backoffMs
    const delayMs = calculate?.({ retry: number, attempt: number, error, jobName, ...present({ previousDelayMs }) })
    if (delayMs === null || (typeof delayMs === 'number' && Number.isFinite(delayMs) && delayMs >= 0)) return delayMs
    log.error({ ...facts, answer: String(delayMs) }, UNUSABLE)
  } catch (thrown) {
    log.error({ ...facts, err: thrown }, UNUSABLE)
  }
  return undefined
}

const UNUSABLE = 'custom backoff is missing or returned no usable delay, using the standard one'
