import type { Policy } from '../../core/policy/policy.js'
import { policyWords as words } from '../../core/policy/words.js'
import { spanText } from '../timeline/span-text.js'

/** A policy in one line, with durations as in the charts. */
export function policyWords(policy: Policy): string {
  return words(policy, spanText)
}
