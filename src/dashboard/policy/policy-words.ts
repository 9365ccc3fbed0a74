import type { Policy } from '../../core/policy/policy.js'
import { policyWords as words } from '../../core/policy/words.js'
import { spanText } from '../timeline/span-text.js'

/** A policy in one line, with lengths of time as the pictures write them. */
export function policyWords(policy: Policy): string {
  return words(policy, spanText)
}
