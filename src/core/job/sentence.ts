import { formatMs } from '../values/duration.js'
import type { RunStatus, StoredError } from './job.js'
import type { Classification, Decision } from './transition.js'

// The sentences of the usual decisions. `decide` writes them, and stores leave out those that can be derived again.

/** What is known of a run beside its decision. */
export interface RunFacts {
  readonly attempt: number
  readonly status: RunStatus
  readonly error?: StoredError | undefined
}

export function successSentence(attempt: number): string {
  return attempt <= 1 ? 'succeeded at the first run' : `succeeded at retry ${attempt - 1}`
}

type RetryFacts = Pick<Decision, 'retry' | 'maxRetries' | 'delayMs'>

/** `words` says what failed; `remark` is an optional addition. */
export function retrySentence({ retry, maxRetries, delayMs = 0 }: RetryFacts, words: string, remark: string): string {
  return `retry ${retry} of ${maxRetries} in ${formatMs(delayMs)}: ${words}${remark}`
}

export const deathSentence = (words: string): string => `died: ${words}`

export const TIMED_OUT = 'the run timed out'

export const retryAfterRemark = (waitMs: number): string => `; Retry-After asks for ${formatMs(waitMs)}`

export function failureWords(error: StoredError, classification: Classification): string {
  return `${subjectOf(error, classification)} is ${classification.kind} (${originOf(classification)})`
}

export function usedUp(maxRetries: number): string {
  if (maxRetries === 0) return 'its policy has no retries'
  return maxRetries === 1 ? 'its one retry is used' : `all ${maxRetries} retries used`
}

/** The failure's name in a sentence: what the rule matched, or else its most specific property. */
export function subjectOf(error: StoredError, { rule }: Classification): string {
  const known = rule === 'default' ? undefined : /^(?:built-in|handler): (.+)$/.exec(rule)?.[1]
  return known ?? error.code ?? (error.status === undefined ? error.name : `HTTP ${error.status}`)
}

function originOf({ rule }: Classification): string {
  return rule === 'default' ? rule : (/^(rule \d+|built-in|handler)\b/.exec(rule)?.[0] ?? rule)
}

/** The sentence that such a decision usually has; undefined if the facts do not give one. */
export function usualSentence(decision: Omit<Decision, 'why'>, run: RunFacts): string | undefined {
  const { action, kind, rule, retry = 0, maxRetries = 0, source, retryAfterMs, delayMs = 0 } = decision
  if (action === 'succeed') return successSentence(run.attempt)
  if (kind === undefined || rule === undefined || decision.retry === undefined) return undefined
  if (action === 'die' && retry > maxRetries) return deathSentence(usedUp(maxRetries))
  if (run.error === undefined) return undefined
  const words = run.status === 'timed-out' ? TIMED_OUT : failureWords(run.error, { kind, rule })
  if (action === 'die') return deathSentence(words)
  const asked = source === 'retry-after' && retryAfterMs !== undefined
  return action === 'retry' ? retrySentence(decision, words, asked ? retryAfterRemark(delayMs) : '') : undefined
}
