import { formatMs } from '../values/duration.js'
import { RAMP_DEFAULT, type Ramp, rampDelayMs, rampedBy, rampLengthMs } from './ramp.js'
import type { BudgetSettings, CircuitSettings } from './settings.js'
import { counted } from './window.js'

/**
 * The state that all jobs with the same dependency share: its circuit, its retry budget and the `Retry-After` that it
 * sent. It is plain data in the store; every function here returns the next state.
 */
export interface Dependency extends DependencyName {
  readonly settings: DependencySettings
  readonly circuit: 'closed' | 'open' | 'ramping'
  /** Incremented when jobs must ask again. The pass of a job names the round in which it is valid. */
  readonly round: number
  readonly changedAt: number
  readonly forced?: 'open' | 'closed'
  /** Why the circuit opened, in words. */
  readonly reason?: string
  readonly openUntil?: number
  /** Consecutive open periods without a lasting recovery. */
  readonly openings: number
  readonly probe?: Probe
  /** The job of the last probe, so that the next probe is a different job. */
  readonly lastProbeId?: string
  /** When a process last requested a probe, so that only one process does. */
  readonly probeCalledAt?: number
  /** When the ramp begins, and how many of its slots are taken. */
  readonly rampFrom?: number
  readonly taken: number
  readonly calls: readonly CallCount[]
  readonly starts: readonly StartCount[]
  /** When the next retry over the budget may start. */
  readonly nextRetryAt?: number
}

/** The jobs of a tenant share a dependency only with each other, and so do jobs without a tenant. */
export interface DependencyName {
  readonly key: string
  readonly tenantId?: string
}

export interface DependencySettings {
  readonly circuit?: CircuitSettings
  readonly budget?: BudgetSettings
}

export interface Probe {
  readonly jobId: string
  readonly workerId: string
  /** The run of the job; absent in records of older versions. */
  readonly run?: number
  /** Without a result by then, the probe counts as undecided and another job may probe. */
  readonly until: number
}

interface CallCount {
  readonly at: number
  readonly ok: number
  readonly failed: number
}

interface StartCount {
  readonly at: number
  readonly first: number
  readonly retry: number
}

/** What a process observed at a dependency since its last report. */
export interface Seen {
  readonly ok: number
  readonly failed: number
  readonly first: number
  readonly retry: number
}

export interface Ask {
  readonly jobId: string
  readonly workerId: string
  readonly run: number
  readonly pass?: number
  /** The job has run before, so the budget counts it. */
  readonly isRetry: boolean
  /** The job may start twice, so it may be the probe. */
  readonly isRepeatable: boolean
  /** The job has used its retries: if this run fails, the job dies. */
  readonly isLastRetry: boolean
  /** The maximum duration of a probe with this job. */
  readonly probeMs: number
}

export type Verdict =
  | { readonly kind: 'go' }
  | { readonly kind: 'probe' }
  /** `pass` is valid when the delay is over: the job does not have to ask again, unless it is `NO_SLOT`. */
  | {
      readonly kind: 'defer'
      readonly delayMs: number
      readonly why: string
      readonly pass: number
      readonly by: 'circuit' | 'ramp' | 'budget'
    }

/** Deferred jobs become due this long after the circuit could have closed, even if no process releases them. */
export const PARK_GRACE_MS = 40_000
/** The job of the last probe leaves the next probe to other jobs for this long. */
const OTHERS_FIRST_MS = 5_000
/** Slots of a budget are reserved at most this far ahead. */
const BUDGET_HORIZON_MS = 60_000
/** The pass of a job that is held back without a slot, so that it asks again. Rounds begin with 1. */
const NO_SLOT = 0
/** Unused slots expire after this time, so that waiting jobs do not all start at once. */
const SLOT_LIFE_MS = 500

export function newDependency(
  { key, tenantId }: DependencyName,
  settings: DependencySettings,
  now: number,
): Dependency {
  return {
    key,
    ...(tenantId !== undefined && { tenantId }),
    settings,
    circuit: 'closed',
    round: 1,
    changedAt: now,
    openings: 0,
    taken: 0,
    calls: [],
    starts: [],
  }
}

/** Applies the current policies of the jobs. */
export function withSettings(dependency: Dependency, settings: DependencySettings): Dependency {
  return dependency.settings === settings ? dependency : { ...dependency, settings }
}

/** Whether a job may start without a decision. This is the common case, so it must be cheap. */
export function isFree(dependency: Dependency, isRetry: boolean): boolean {
  return dependency.circuit === 'closed' && dependency.forced !== 'open' && !(isRetry && dependency.settings.budget)
}

/** Applies the passage of time: a completed ramp ends. */
export function advanced(dependency: Dependency, now: number): Dependency {
  if (dependency.circuit !== 'ramping' || now < dependency.rampFrom! + rampLengthMs(rampOf(dependency)))
    return dependency
  const { rampFrom, ...rest } = dependency
  return { ...rest, circuit: 'closed', openings: 0, taken: 0, changedAt: now }
}

export function admit(given: Dependency, ask: Ask, now: number, random: () => number): readonly [Dependency, Verdict] {
  const dependency = advanced(given, now)
  if (dependency.forced === 'closed') return [dependency, GO]
  if (dependency.circuit === 'open') return admitOpen(dependency, ask, now, random)
  const { budget } = dependency.settings
  const isCounted = ask.isRetry && budget !== undefined && dependency.circuit === 'closed'
  if (ask.pass === dependency.round && !(isCounted && isOverBudget(dependency, budget, now))) return [dependency, GO]
  if (dependency.circuit === 'ramping') return admitRamping(dependency, now)
  return isCounted ? admitRetry(dependency, budget, now, random) : [dependency, GO]
}

const GO: Verdict = { kind: 'go' }

function admitOpen(
  dependency: Dependency,
  ask: Ask,
  now: number,
  random: () => number,
): readonly [Dependency, Verdict] {
  if (mayProbe(dependency, ask, now)) {
    const { jobId, workerId, run } = ask
    const probe = { jobId, workerId, run, until: now + ask.probeMs }
    return [{ ...dependency, probe }, { kind: 'probe' }]
  }
  if (isTiredOfWaiting(dependency, ask, now)) return admitRamping(closing(dependency, now), now)
  const shutMs = Math.max(0, (dependency.openUntil ?? now) - now)
  const why = dependency.forced
    ? `the circuit "${dependency.key}" is held open manually`
    : `the circuit "${dependency.key}" is open${because(dependency)}`
  const delayMs = Math.ceil(shutMs + PARK_GRACE_MS * (1 + random() / 4))
  return [dependency, { kind: 'defer', delayMs, why, pass: dependency.round, by: 'circuit' }]
}

const because = ({ reason }: Dependency): string => (reason === undefined ? '' : `: ${reason}`)

/** A failed probe counts as an attempt, so a job with its last retry leaves the probe to other jobs for longer. */
function mayProbe(dependency: Dependency, { jobId, isRepeatable, isLastRetry }: Ask, now: number): boolean {
  const { forced, openUntil = 0, lastProbeId } = dependency
  if (forced || !isRepeatable || isProbed(dependency, now)) return false
  const othersFirstMs = isLastRetry ? PARK_GRACE_MS : jobId === lastProbeId ? OTHERS_FIRST_MS : 0
  return now >= openUntil + othersFirstMs
}

/** Whether a probe is running whose result may still arrive. */
export function isProbed({ probe }: Dependency, now: number): boolean {
  return probe !== undefined && now < probe.until
}

/** Jobs that may start only once are never probes. If there are no other jobs, the circuit closes after a time. */
function isTiredOfWaiting(dependency: Dependency, { isRepeatable }: Ask, now: number): boolean {
  const { forced, openUntil = 0, changedAt } = dependency
  return (
    !isRepeatable &&
    !forced &&
    !isProbed(dependency, now) &&
    now >= openUntil + Math.max(PARK_GRACE_MS, openUntil - changedAt)
  )
}

function admitRamping(dependency: Dependency, now: number): readonly [Dependency, Verdict] {
  const ramp = rampOf(dependency)
  const from = dependency.rampFrom!
  const lapsed = now - SLOT_LIFE_MS > from ? Math.floor(rampedBy(ramp, now - SLOT_LIFE_MS - from)) : 0
  const rank = Math.max(dependency.taken, lapsed)
  const delayMs = Math.ceil(from + rampDelayMs(ramp, rank) - now)
  const next = { ...dependency, taken: rank + 1 }
  if (delayMs <= 0) return [next, GO]
  const why =
    now < from
      ? `"${dependency.key}" is throttled for ${formatMs(from - now)}`
      : `the circuit "${dependency.key}" has closed and lets jobs through step by step`
  return [next, { kind: 'defer', delayMs, why, pass: dependency.round, by: 'ramp' }]
}

function admitRetry(
  dependency: Dependency,
  budget: BudgetSettings,
  now: number,
  random: () => number,
): readonly [Dependency, Verdict] {
  const stepMs = 1_000 / retriesPerSecond(dependency, budget, now)
  const at = Math.max(dependency.nextRetryAt ?? 0, isOverBudget(dependency, budget, now) ? now + stepMs : now - 1_000)
  if (at <= now) return [{ ...dependency, nextRetryAt: at + stepMs }, GO]
  const why = `the retry budget of "${dependency.key}" is used`
  if (at - now > BUDGET_HORIZON_MS) {
    const delayMs = Math.ceil(BUDGET_HORIZON_MS * (1 + random()))
    return [dependency, { kind: 'defer', delayMs, why, pass: NO_SLOT, by: 'budget' }]
  }
  const delayMs = Math.ceil(at - now)
  return [
    { ...dependency, nextRetryAt: at + stepMs },
    { kind: 'defer', delayMs, why, pass: dependency.round, by: 'budget' },
  ]
}

/** How many retries may start per second, given the first attempts of the last seconds. */
export function retriesPerSecond(
  dependency: Dependency,
  { ratio, minPerSecond, windowMs }: BudgetSettings,
  now: number,
): number {
  const first = dependency.starts.filter(({ at }) => at > now - windowMs).reduce((sum, start) => sum + start.first, 0)
  return (ratio * first * 1_000) / windowMs + minPerSecond
}

/** Slots that were reserved while there were more first attempts may be too many now. */
function isOverBudget(dependency: Dependency, budget: BudgetSettings, now: number): boolean {
  const retries = dependency.starts
    .filter(({ at }) => at > now - budget.windowMs)
    .reduce((sum, start) => sum + start.retry, 0)
  return retries > 1.1 * retriesPerSecond(dependency, budget, now) * (budget.windowMs / 1_000) + 1
}

/** Counts the observed calls, and opens the circuit if too many failed. `why` is the last failure, in words. */
export function seen(given: Dependency, { ok, failed, first, retry }: Seen, now: number, why?: string): Dependency {
  const dependency = advanced(given, now)
  const { circuit, budget } = dependency.settings
  const starts =
    budget && first + retry > 0 ? counted(dependency.starts, { first, retry }, budget.windowMs, now) : dependency.starts
  if (!circuit || dependency.circuit === 'open' || ok + failed === 0) return { ...dependency, starts }
  const calls = counted(dependency.calls, { ok, failed }, circuit.windowMs, now)
  const next = { ...dependency, starts, calls }
  return !dependency.forced && failed > 0 && isTooMuch(next, circuit) ? opening(next, circuit, now, why) : next
}

function isTooMuch(dependency: Dependency, { minimumCalls, failureRate }: CircuitSettings): boolean {
  const failed = dependency.calls.reduce((sum, call) => sum + call.failed, 0)
  const all = dependency.calls.reduce((sum, call) => sum + call.ok, failed)
  // A dependency that fails again during its ramp does not get a whole window.
  const enough = dependency.circuit === 'ramping' ? Math.max(2, Math.ceil(minimumCalls / 4)) : minimumCalls
  return all >= enough && failed / all >= failureRate
}

function opening(
  dependency: Dependency,
  settings: CircuitSettings,
  now: number,
  reason: string | undefined,
): Dependency {
  const { rampFrom, probe, probeCalledAt, reason: _, ...rest } = dependency
  const { openForMs, openFactor, openMaxMs } = settings
  const openMs = Math.min(openMaxMs, openForMs * openFactor ** dependency.openings)
  return {
    ...rest,
    circuit: 'open',
    round: dependency.round + 1,
    changedAt: now,
    openUntil: Math.ceil(now + openMs),
    openings: dependency.openings + 1,
    taken: 0,
    calls: [],
    ...(reason !== undefined && { reason }),
  }
}

/** Closes the circuit; waiting jobs are released step by step. */
function closing(dependency: Dependency, now: number, rampFrom = now): Dependency {
  const { openUntil, probe, probeCalledAt, reason, forced, nextRetryAt, ...rest } = dependency
  return { ...rest, circuit: 'ramping', round: dependency.round + 1, changedAt: now, rampFrom, taken: 0, calls: [] }
}

/** `unsure`: the probe ended without showing whether the dependency is up; another job may probe at once. */
export function probed(
  dependency: Dependency,
  jobId: string,
  answer: 'up' | 'down' | 'unsure',
  now: number,
  why?: string,
): Dependency {
  if (dependency.circuit !== 'open' || dependency.probe?.jobId !== jobId || dependency.forced) return dependency
  if (answer === 'up') return closing(dependency, now)
  const { probe, probeCalledAt, ...rest } = dependency
  if (answer === 'unsure') return { ...rest, lastProbeId: jobId, openUntil: now }
  const settings = dependency.settings.circuit
  return settings
    ? { ...opening(dependency, settings, now, why ?? dependency.reason), lastProbeId: jobId }
    : closing(dependency, now)
}

/** Lets one process request the probe. If there is no probe, another process may request one a little later. */
export function callProbe(dependency: Dependency, now: number): Dependency | undefined {
  const { circuit, forced, openUntil = 0, probeCalledAt } = dependency
  if (circuit !== 'open' || forced || now < openUntil || isProbed(dependency, now)) return undefined
  if (probeCalledAt !== undefined && now < probeCalledAt + OTHERS_FIRST_MS) return undefined
  return { ...dependency, probeCalledAt: now }
}

/** Applies a `Retry-After` of the dependency to all of its jobs. */
export function throttled(given: Dependency, forMs: number, now: number): Dependency {
  const dependency = advanced(given, now)
  const until = Math.ceil(now + forMs)
  if (dependency.forced === 'closed') return dependency
  if (dependency.circuit === 'open') return { ...dependency, openUntil: Math.max(dependency.openUntil ?? 0, until) }
  const isKnown = dependency.circuit === 'ramping' && dependency.rampFrom! >= until - 1_000
  return isKnown ? dependency : closing(dependency, now, until)
}

/** Forces the circuit open or closed, or returns it to automatic control (closed, with a ramp if it was open). */
export function force(dependency: Dependency, to: 'open' | 'closed' | 'auto', now: number): Dependency {
  if (to === 'open') {
    const { probe, probeCalledAt, rampFrom, openUntil, reason, ...rest } = dependency
    return {
      ...rest,
      circuit: 'open',
      forced: 'open',
      round: dependency.round + 1,
      changedAt: now,
      taken: 0,
      calls: [],
    }
  }
  const closed = dependency.circuit === 'open' ? { ...closing(dependency, now), openings: 0 } : dependency
  const { forced, ...auto } = closed
  return to === 'closed' ? { ...auto, forced: 'closed', changedAt: now } : { ...auto, changedAt: now }
}

/** Takes this many slots of the ramp at once, for deferred jobs. */
export function takeSlots(
  dependency: Dependency,
  count: number,
  now: number,
): { readonly dependency: Dependency; readonly delaysMs: readonly number[] } {
  const ramp = rampOf(dependency)
  const from = dependency.rampFrom ?? now
  const delaysMs = Array.from({ length: count }, (_, index) =>
    Math.max(0, from + rampDelayMs(ramp, dependency.taken + index) - now),
  )
  return { dependency: { ...dependency, taken: dependency.taken + count }, delaysMs }
}

/** The delays of deferred jobs while the circuit is open: after the next probe, spread like the ramp. */
export function deferDelaysMs(dependency: Dependency, count: number, now: number): readonly number[] {
  const shutMs = Math.max(0, (dependency.openUntil ?? now) - now) + PARK_GRACE_MS
  const ramp = rampOf(dependency)
  return Array.from({ length: count }, (_, index) => shutMs + rampDelayMs(ramp, index))
}

function rampOf({ settings }: Dependency): Ramp {
  return settings.circuit?.ramp ?? RAMP_DEFAULT
}
