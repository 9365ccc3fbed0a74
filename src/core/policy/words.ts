import { type Duration, formatMs, toMs } from '../values/duration.js'
import { jitterLabel } from './jitter.js'
import type { Backoff, Jitter, PartialPolicy } from './policy.js'

const LISTED_MAX = 6

/** A policy, or the part of one that a level sets, in one line: `exponential 1m ×2, ±20 %, cap 1h, 3 retries`. `span` formats durations. */
export function policyWords(policy: PartialPolicy, span: (ms: number) => string = formatMs): string {
  const { backoff, jitter, cap, maxRetries, maxElapsed, crashes, circuit, budget } = policy
  const forgiving = crashes === 'forgive' && 'crashes forgiven'
  if (maxRetries === 0) return forgiving ? `no retries, ${forgiving}` : 'no retries'
  const text = (duration: Duration): string => span(toMs(duration, 'policy'))
  const parts = [
    backoff && backoffWords(backoff, span),
    jitter === undefined ? undefined : jitterWords(jitter),
    cap === undefined ? undefined : `cap ${text(cap)}`,
    maxRetries === undefined ? undefined : maxRetries === 1 ? '1 retry' : `${maxRetries.toLocaleString('en')} retries`,
    maxElapsed === undefined ? undefined : `at most ${text(maxElapsed)} in all`,
    forgiving,
    circuit && 'circuit',
    budget && 'budget',
  ]
  return parts.filter(part => part).join(', ')
}

function jitterWords(jitter: Jitter): string {
  if (jitter === 'none' || jitter === 0) return 'no jitter'
  return `${typeof jitter === 'number' ? '' : 'jitter '}${jitterLabel(jitter)}`
}

/** Whether a lost run uses an attempt, in one sentence. */
export function crashWords({ crashes }: Pick<PartialPolicy, 'crashes'>): string {
  return crashes === 'forgive'
    ? 'A run that is lost in a crash is free, up to ten times (crashes: forgive).'
    : 'A run that is lost in a crash uses an attempt (crashes: count).'
}

export function backoffWords(backoff: Backoff, span: (ms: number) => string = formatMs): string {
  const text = (duration: Duration): string => span(toMs(duration, 'policy'))
  switch (backoff.type) {
    case 'exponential':
      return `exponential ${text(backoff.base)} ×${backoff.factor ?? 2}`
    case 'linear':
      return `linear ${text(backoff.base)} +${text(backoff.increment ?? backoff.base)}`
    case 'fixed':
      return `fixed ${text(backoff.delay)}`
    case 'fibonacci':
      return `fibonacci ${text(backoff.base)}`
    case 'list': {
      const shown = backoff.delays.slice(0, LISTED_MAX).map(text)
      const rest = backoff.delays.length - shown.length
      return `after ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
    }
    case 'custom':
      return `custom "${backoff.name}"`
  }
}
