import { type RunFacts, usualSentence } from '../core/job/sentence.js'
import type { Decision } from '../core/job/transition.js'

// A decision as a list of codes and numbers, without its sentence: a fifth of the JSON with names, and quicker to write.

/** The places of the facts in the list. They are stored, so facts are only ever added at the end. */
const PLACES = [
  'action',
  'kind',
  'rule',
  'retry',
  'maxRetries',
  'delayMs',
  'strategy',
  'jitter',
  'source',
  'rawMs',
  'capMs',
  'windowMs',
  'draw',
  'retryAfterMs',
  'traceId',
] as const satisfies readonly (keyof Decision)[]

/** The codes of words are stored, too. A word without a code is stored as it is. */
const CODES: { readonly [Field in keyof Decision]?: readonly string[] } = {
  action: ['succeed', 'retry', 'die', 'cancel', 'wait'],
  kind: ['transient', 'throttled', 'permanent', 'gone', 'blocked', 'endpoint-disabled'],
  rule: ['default', 'timeout', 'lost'],
  strategy: ['exponential', 'fixed', 'linear', 'list', 'custom'],
  jitter: ['none', 'full', 'equal', 'decorrelated'],
  source: ['backoff', 'rule', 'retry-after', 'snooze', 'custom'],
}

/** Undefined if the decision has a sentence of its own, or a fact that has no place. */
export function encodeDecision(decision: Decision, run: RunFacts): string | undefined {
  const list: unknown[] = []
  let placed = 1
  for (let place = 0; place < PLACES.length; place++) {
    const field = PLACES[place]!
    const value = decision[field]
    if (value !== undefined) placed += 1
    const code = typeof value === 'string' ? (CODES[field]?.indexOf(value) ?? -1) : -1
    list.push(code < 0 ? value : code)
  }
  const isComplete = placed === Object.keys(decision).length
  if (!isComplete || decision.why !== usualSentence(decision, run)) return undefined
  while (list.at(-1) === undefined) list.pop()
  return JSON.stringify(list)
}

export function decodeDecision(text: string, run: RunFacts): Decision {
  const list = JSON.parse(text) as readonly unknown[]
  const facts: Record<string, unknown> = {}
  for (const [place, field] of PLACES.entries()) {
    const value = list[place] ?? undefined
    const codes = typeof value === 'number' ? CODES[field] : undefined
    if (value !== undefined) facts[field] = codes ? codes[value as number] : value
  }
  const decision = facts as Omit<Decision, 'why'>
  return { ...decision, why: usualSentence(decision, run) ?? '' }
}
