import { type Fingerprint, fingerprintOf, isOwnFingerprint } from '../../core/failure/fingerprint.js'
import type { StoredError } from '../../core/job/job.js'
import type { Outcome, Transition } from '../../core/job/lifecycle.js'
import type { FailureKind } from '../../core/policy/policy.js'
import type { Claimed, RunEnd, Settlement } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'
import type { Attempt } from './attempt.js'

/** What the store is told about the end of a run. */
export function settlementOf(
  attempt: Attempt,
  outcome: Outcome,
  transition: Transition,
  finishedAt: number,
): Settlement {
  const { claimed, startedAt, definition, dependency } = attempt
  const end: End = { kind: 'ended', transition }
  if ('error' in outcome) {
    end.error = outcome.error
    end.group = groupOf(claimed, outcome.error, transition.decision.kind, definition)
  }
  if ('note' in outcome && outcome.note !== undefined) end.note = outcome.note
  if (outcome.kind === 'succeeded' && outcome.result !== undefined) end.result = outcome.result
  if (dependency && transition.to === 'waiting') end.dependency = dependency.key
  const pass = 'probe' in outcome ? outcome.probe?.pass : outcome.kind === 'deferred' ? outcome.pass : undefined
  if (pass !== undefined) end.pass = pass
  return settlementFor(claimed, startedAt, finishedAt, end)
}

type Ended = Extract<RunEnd, { kind: 'ended' }>
type End = { -readonly [Field in keyof Ended]: Ended[Field] }

/** Field by field: every job comes by, and spreads take several times as long. */
function settlementFor(claimed: Claimed, startedAt: number, finishedAt: number, end: RunEnd): Settlement {
  const { generation, run, attempt, workerId, queue, name, tenantId } = claimed
  const settlement = { lease: claimed, generation, run, attempt, workerId, queue, name, startedAt, finishedAt, end }
  return tenantId === undefined ? settlement : { ...settlement, tenantId }
}

/** The errors that this process saw last: most failures are like one before. */
const seen = new Map<string, Fingerprint>()
const SEEN_MAX = 500

/** Which group of equal errors a failed run belongs to: by what the job says, or else by the error itself. */
export function groupOf(
  claimed: Claimed,
  error: StoredError,
  kind: FailureKind | undefined,
  definition?: JobDefinition,
): Fingerprint {
  const { name } = claimed
  const own = ownOf(claimed, error, definition)
  const key = JSON.stringify([name, own, kind, error.name, error.code, error.status, error.message])
  const known = seen.get(key)
  if (known) return known
  const group = fingerprintOf({ name, error, ...(kind && { kind }), ...(own !== undefined && { own }) })
  if (seen.size >= SEEN_MAX) seen.clear()
  seen.set(key, group)
  return group
}

function ownOf(claimed: Claimed, error: StoredError, definition: JobDefinition | undefined): string | undefined {
  if (isOwnFingerprint(claimed.fingerprint)) return claimed.fingerprint
  const said = definition?.fingerprint
  if (typeof said !== 'function') return said
  try {
    const { id, name, queue, tenantId, key, tags } = claimed
    const job = {
      id,
      name,
      queue,
      tags,
      ...(tenantId !== undefined && { tenantId }),
      ...(key !== undefined && { key }),
    }
    const own: unknown = said(error, job)
    return isOwnFingerprint(own) ? own : undefined
  } catch {
    // Of the user's making: that it throws must not hide the error that it was asked about.
    return undefined
  }
}
