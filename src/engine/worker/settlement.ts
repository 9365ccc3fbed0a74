import { type Fingerprint, fingerprintOf, isOwnFingerprint } from '../../core/failure/fingerprint.js'
import type { StoredError } from '../../core/job/job.js'
import type { Outcome, Transition } from '../../core/job/lifecycle.js'
import type { Units } from '../../core/partition/limits.js'
import { startCost } from '../../core/partition/pace.js'
import type { FailureKind } from '../../core/policy/policy.js'
import { present } from '../../core/values/present.js'
import type { Claimed, RunEnd, Settlement } from '../../store/store.js'
import type { JobDefinition } from '../client/definition.js'
import type { Ending, EndingRun } from './finish.js'

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
  const settlement = settlementFor(claimed, startedAt, finishedAt, end)
  return claimed.lane === undefined ? settlement : { ...settlement, ...turnEnd(run, outcome) }
}

/** What the end of a run says about the rates of its partition. */
function turnEnd({ claimed, hasStarted, spentUnits, lesson }: EndingRun, { kind }: Outcome): TurnEnd {
  // A run that did not start has cost nothing: an open circuit spends nothing.
  if (hasStarted === false || kind === 'deferred') return { spent: givenBack(claimed) }
  return present({ spent: spentUnits && correction(claimed.units, spentUnits), lesson })
}

type TurnEnd = Pick<Settlement, 'spent' | 'lesson'>

/** What a job that did not start gives back. */
function givenBack({ units }: Claimed): Units {
  return negated(startCost(units))
}

const negated = (units: Units): Units =>
  Object.fromEntries(Object.entries(units).map(([unit, amount]) => [unit, -amount]))

/** The difference to the estimate, which the start has paid; undefined if there is none. */
function correction(estimate: Units = {}, spent: Units): Units | undefined {
  const differences = Object.entries(spent).map(([unit, amount]) => [unit, amount - (estimate[unit] ?? 0)] as const)
  const owed = differences.filter(([, amount]) => amount !== 0)
  return owed.length === 0 ? undefined : Object.fromEntries(owed)
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
  if (claimed.lane !== undefined) {
    settlement.lane = claimed.lane
    settlement.claimedAt = claimed.startedAt ?? startedAt
    if (end.kind === 'handed-back') settlement.spent = givenBack(claimed)
  }
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
