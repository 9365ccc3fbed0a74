import { type PartialPolicy, partialPolicy } from '../../core/policy/form.js'
import { tryRead } from '../../core/values/schema.js'
import type { Claimed } from '../../store/store.js'

/** JSON begins with one of these. A newer version marks another encoding of a payload with any other beginning. */
const JSON_BEGINS = /^[{["\dtfn-]/

/**
 * What this version does not understand about a job, in words. A process of a newer version may have enqueued it; the
 * job is handed back for such a process, without a run.
 */
export function unknownPartOf({ payload, override }: Pick<Claimed, 'payload' | 'override'>): string | undefined {
  if (!JSON_BEGINS.test(payload)) return 'the encoding of its payload'
  return override === undefined || isKnownPolicy(override) ? undefined : 'its retry policy'
}

const known = new WeakMap<PartialPolicy, boolean>()

/** Whether this version knows every setting of a stored policy. One that it ignored could end a job too early. */
export function isKnownPolicy(policy: PartialPolicy): boolean {
  const cached = known.get(policy)
  if (cached !== undefined) return cached
  const answer = 'value' in tryRead(partialPolicy, policy)
  known.set(policy, answer)
  return answer
}

const FIRST_MS = 5000
const MAX_MS = 60_000

/** Jobs of a newer version are left to newer workers. */
export class NewerJobs {
  readonly #delays = new Map<string, number>()

  /** How long to release a job of this name: longer each time. */
  releaseMs(name: string): number {
    const delayMs = this.#delays.get(name) ?? FIRST_MS
    this.#delays.set(name, Math.min(MAX_MS, delayMs * 2))
    return delayMs
  }
}
