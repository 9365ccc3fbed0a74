import { jitterLabel } from '../../core/policy/jitter.js'
import type { PartialPolicy } from '../../core/policy/policy.js'
import { backoffWords } from '../../core/policy/words.js'
import { formatMs, toMs } from '../../core/values/duration.js'
import { spelled } from '../commands/policy/words.js'
import type { Style } from './print.js'

/** A retry policy in one line: `exponential 1m ×2, at most 1h, jitter ±20 %, up to 3 retries`. */
export function policyWords(policy: PartialPolicy, style: Style): string {
  const { backoff, cap, jitter, maxRetries, maxElapsed } = policy
  const parts = [
    backoff && backoffWords(backoff),
    cap === undefined ? undefined : `at most ${formatMs(toMs(cap, 'cap'))}`,
    jitter === undefined ? undefined : `jitter ${jitterLabel(jitter)}`,
    maxRetries === undefined ? undefined : retriesWords(maxRetries),
    maxElapsed === undefined ? undefined : `for ${formatMs(toMs(maxElapsed, 'maxElapsed'))} in total`,
  ]
  return spelled(parts.filter(part => part !== undefined).join(', '), style)
}

function retriesWords(maxRetries: number): string {
  if (maxRetries === 0) return 'no retries'
  return maxRetries === 1 ? 'one retry' : `up to ${maxRetries} retries`
}
