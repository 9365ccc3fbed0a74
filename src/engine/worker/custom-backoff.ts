import type { Log } from '../client/log.js'
import type { Attempt } from './attempt.js'

/** What a custom backoff function is told. It answers milliseconds, or null for "no further retry". */
export interface BackoffContext {
  /** 1 follows the first failure. */
  readonly retry: number
  readonly attempt: number
  readonly error: unknown
  readonly previousDelayMs?: number
  readonly jobName: string
}

export type CustomBackoffs = Readonly<Record<string, (context: BackoffContext) => number | null>>

/** Undefined where the policy has no custom backoff, or its function is missing or unusable: the rules fall back. */
export function customDelayMs(
  backoffs: CustomBackoffs,
  attempt: Attempt,
  error: unknown,
  log: Log,
): number | null | undefined {
  const { backoff } = attempt.policy
  if (backoff.type !== 'custom') return undefined
  const calculate = Object.hasOwn(backoffs, backoff.name) ? backoffs[backoff.name] : undefined
  const { name: jobName, attempt: number } = attempt
  try {
    const delayMs = calculate?.({
      retry: number,
      attempt: number,
      error,
      jobName,
      ...(attempt.claimed.backoffMs !== undefined && { previousDelayMs: attempt.claimed.backoffMs }),
    })
    if (delayMs === null || (typeof delayMs === 'number' && Number.isFinite(delayMs) && delayMs >= 0)) return delayMs
    log.error({ event: 'backoff.invalid', backoff: backoff.name, answer: String(delayMs), jobName }, BAD_ANSWER)
  } catch (thrown) {
    log.error({ event: 'backoff.invalid', backoff: backoff.name, err: thrown, jobName }, BAD_ANSWER)
  }
  return undefined
}

const BAD_ANSWER = 'a custom backoff is missing or gave no usable delay; the standard one is used'
