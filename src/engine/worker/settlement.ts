import { type Fingerprint, fingerprintOf, isOwnFingerprint } from '../../core/failure/fingerprint.js'
import type { StoredError } from '../../core/job/job.js'
import type { Transition } from '../../core/job/lifecycle.js'
import type { FailureKind } from '../../core/policy/policy.js'
import { present } from '../../core/values/present.js'
import type { Claimed, RunEnd, Settlement } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'
import type { Ending } from './finish.js'

/** The end of a run as the store writes it. */
export function settlementOf({ run, outcome, transition, finishedAt }: Ending): Settlement {
  const { claimed, startedAt, definition, dependency, noted, traceId } = run
  const end: End = { kind: 'ended', transition: traceId === undefined ? transition : traced(transition, traceId) }
  if ('error' in outcome) {
    end.error = outcome.error
    end.group = groupOf(claimed, outcome.error, transition.decision.kind, definition)
  }
  const note = 'note' in outcome ? outcome.note : undefined
  if (noted !== undefined || note !== undefined) end.note = joined(noted, note)
  if (outcome.kind === 'succeeded' && outcome.result !== undefined) end.result = outcome.result
  if (dependency && transition.to === 'waiting') end.dependency = dependency.key
  const pass = outcome.kind === 'deferred' ? outcome.pass : undefined
  if (pass !== undefined) end.pass = pass
  return settlementFor(claimed, startedAt, finishedAt, end)
}

const traced = (transition: Transition, traceId: string): Transition => ({
  ...transition,
  decision: { ...transition.decision, traceId },
})

function joined(noted: string | undefined, note: string | undefined): string {
  return noted === undefined || note === undefined ? (noted ?? note)! : `${noted}; ${note}`
}

type Ended = Extract<RunEnd, { kind: 'ended' }>
type End = { -readonly [Field in keyof Ended]: Ended[Field] }

/** Filled field by field, because this runs for every job and a spread takes several times as long. */
export function settlementFor(claimed: Claimed, startedAt: number, finishedAt: number, end: RunEnd): Settlement {
  const { generation, run, attempt, workerId, queue, name, tenantId, failedAt, runAt } = claimed
  const settlement: { -readonly [Field in keyof Settlement]: Settlement[Field] } = {
    lease: claimed,
    generation,
    run,
    attempt,
    workerId,
    queue,
    name,
    dueAt: runAt,
    startedAt,
    finishedAt,
    end,
  }
  if (tenantId !== undefined) settlement.tenantId = tenantId
  if (failedAt !== undefined) settlement.failedAt = failedAt
  return settlement
}

/** The errors that this process saw last, because most failures repeat an earlier one. */
const seen = new Map<string, Fingerprint>()
const SEEN_MAX = 500

/**
 * The error group of a failed run: the fingerprint given by the job or its definition, otherwise one derived from the
 * error.
 */
function groupOf(
  claimed: Claimed,
  error: StoredError,
  kind: FailureKind | undefined,
  definition: JobDefinition | undefined,
): Fingerprint {
  const { name } = claimed
  const own = ownOf(claimed, error, definition)
  // Equal errors are one object (`toStoredError`), and most failures repeat the last one.
  if (last?.error === error && last.name === name && last.kind === kind && last.own === own) return last.group
  const group = groupNamed(name, error, kind, own)
  last = { error, name, kind, own, group }
  return group
}

let last: Grouped | undefined

interface Grouped {
  readonly error: StoredError
  readonly name: string
  readonly kind: FailureKind | undefined
  readonly own: string | undefined
  readonly group: Fingerprint
}

function groupNamed(
  name: string,
  error: StoredError,
  kind: FailureKind | undefined,
  own: string | undefined,
): Fingerprint {
  const key = JSON.stringify([name, own, kind, error.name, error.code, error.status, error.message])
  const known = seen.get(key)
  if (known) return known
  const group = fingerprintOf(present({ name, error, kind, own }))
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
    const own: unknown = said({ ...error }, present({ id, name, queue, tags, tenantId, key }))
    return isOwnFingerprint(own) ? own : undefined
  } catch {
    // A user's fingerprint function that throws must not hide the error it was asked about.
    return undefined
  }
}
