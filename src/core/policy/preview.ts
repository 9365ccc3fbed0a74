import { attemptLabel } from '../job/job.js'
import { about, anyText, type Infer, integer, number } from '../values/schema.js'
import { nullable, pair, view } from '../values/shape.js'
import { type ComputedBackoff, capMs, cappedDelay, delayWindow } from './backoff.js'
import { mergePolicies, type Policy, type PolicyInput, parsePolicy } from './policy.js'
import { MAX_RETRIES } from './presets.js'

export const previewRow = view({
  retry: integer(),
  label: anyText,
  delayMs: about(nullable(number()), 'Without jitter; null if a function of the worker decides.'),
  window: about(pair(number(), 'two numbers'), 'The shortest and the longest wait, in milliseconds.'),
  totalMs: about(
    pair(number(), 'two numbers'),
    'The minimum and maximum sum of all waits up to and including this one.',
  ),
})
export type PreviewRow = Infer<typeof previewRow>

/** The waits of whatever an enqueue accepts as `retry`; the standard policy supplies missing settings. */
export function previewInput(retry: PolicyInput): readonly PreviewRow[] {
  return preview(mergePolicies(parsePolicy(retry, 'policy')))
}

/** The waits of a whole policy, retry by retry. */
export function preview(policy: Pick<Policy, 'maxRetries' | 'backoff' | 'jitter' | 'cap'>): readonly PreviewRow[] {
  const rows: PreviewRow[] = []
  const ceiling = capMs(policy)
  let min = 0
  let max = 0
  let previous: number | undefined
  for (let retry = 1; retry <= Math.min(policy.maxRetries, MAX_RETRIES); retry++) {
    const window = delayWindow(policy, retry, previous)
    if (window === null) break
    min += window.lo
    max += window.hi
    // The upper bound of decorrelated jitter: every earlier wait was the longest possible.
    previous = window.hi
    rows.push({
      retry,
      label: attemptLabel(retry + 1),
      delayMs: policy.backoff.type === 'custom' ? null : cappedDelay(policy.backoff as ComputedBackoff, retry, ceiling),
      window: [window.lo, window.hi],
      totalMs: [min, max],
    })
  }
  return rows
}

/** When each retry starts if every draw falls in the middle of its window: the average, in milliseconds from the first failure. */
export function typicalStarts(policy: Pick<Policy, 'maxRetries' | 'backoff' | 'jitter' | 'cap'>): readonly number[] {
  const starts: number[] = []
  let total = 0
  let previous: number | undefined
  for (let retry = 1; retry <= Math.min(policy.maxRetries, MAX_RETRIES); retry++) {
    const window = delayWindow(policy, retry, previous)
    if (window === null) break
    previous = (window.lo + window.hi) / 2
    total += previous
    starts.push(Math.round(total))
  }
  return starts
}
