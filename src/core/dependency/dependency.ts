import { formatMs } from '../values/duration.js'
import { RAMP_DEFAULT, type Ramp, rampDelayMs, rampedBy, rampLengthMs } from './ramp.js'
import type { BudgetSettings, CircuitSettings } from './settings.js'

/**
 * What all jobs that depend on one thing share: its circuit, its retry budget and the word of the other side that it
 * wants to be left alone. Plain data that is kept in the store; every function here returns the next state of it.
 */
export interface Dependency {
  readonly key: string
  readonly settings: DependencySettings
  readonly circuit: 'closed' | 'open' | 'ramping'
  /** Grows when jobs must ask anew. A pass that a job was given names the round in which it holds. */
  readonly round: number
  readonly changedAt: number
  readonly forced?: 'open' | 'closed'
  /** What it shut for, in words. */
  readonly reason?: string
  readonly openUntil?: number
  /** Open periods in a row, without a recovery that lasted. */
  readonly openings: number
  readonly probe?: Probe
  /** The next probe is another job's. */
  readonly lastProbeId?: string
  /** When a probe was last asked for, so that one process does it. */
  readonly probeCalledAt?: number
  /** Where the ramp begins, and how many of its slots are given away. */
  readonly rampFrom?: number
  readonly taken: number
  readonly calls: readonly CallCount[]
  readonly starts: readonly StartCount[]
  /** When the next retry over the budget may start. */
  readonly nextRetryAt?: number
}

export interface DependencySettings {
  readonly circuit?: CircuitSettings
  readonly budget?: BudgetSettings
}

export interface Probe {
  readonly jobId: string
  readonly workerId: string
  /** Not heard of until then, it counts as nothing and another may try. */
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

/** What was seen at a dependency since it was last told. */
export interface Seen {
  readonly ok: number
  readonly failed: number
  readonly first: number
  readonly retry: number
}

export interface Ask {
  readonly jobId: string
  readonly workerId: string
  readonly pass?: number
  /** It has run before, so the budget counts it. */
  readonly isRetry: boolean
  /** It may start twice, so it may be the one that is sent ahead. */
  readonly isRepeatable: boolean
  /** How long a probe of it may take. */
  readonly probeMs: number
}

export type Verdict =
  | { readonly kind: 'go' }
  | { readonly kind: 'probe' }
  /** `pass` is the slot that it was given: at its time it need not ask again. */
  | {
      readonly kind: 'defer'
      readonly delayMs: number
      readonly why: string
      readonly pass?: number
      readonly by: 'circuit' | 'ramp' | 'budget'
    }

/** Parked jobs come due by themselves this long after the dependency could have opened: nothing waits on a loop's word alone. */
export const PARK_GRACE_MS = 40_000
/** A job that was the last probe leaves the next one to others for so long. */
const OTHERS_FIRST_MS = 5_000
/** Slots of a budget are given away at most so far ahead. */
const BUDGET_HORIZON_MS = 60_000
/** Unused slots are lost after so long: what waited must not come all at once. */
const SLOT_LIFE_MS = 500
const BUCKETS = 10

export function newDependency(key: string, settings: DependencySettings, now: number): Dependency {
  return { key, settings, circuit: 'closed', round: 1, changedAt: now, openings: 0, taken: 0, calls: [], starts: [] }
}

/** What the policies of the jobs say now. */
export function withSettings(dependency: Dependency, settings: DependencySettings): Dependency {
  return dependency.settings === settings ? dependency : { ...dependency, settings }
}

/** Whether a job may pass without asking: the common case, which must cost nothing. */
export function isFree(dependency: Dependency, isRetry: boolean): boolean {
  return dependency.circuit === 'closed' && dependency.forced !== 'open' && !(isRetry && dependency.settings.budget)
}

/** What time alone changes: a ramp that has been climbed is over. */
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
    const probe = { jobId: ask.jobId, workerId: ask.workerId, until: now + ask.probeMs }
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

function mayProbe(dependency: Dependency, { jobId, isRepeatable }: Ask, now: number): boolean {
  const { forced, openUntil = 0, lastProbeId } = dependency
  if (forced || !isRepeatable || now < openUntil || isProbed(dependency, now)) return false
  return jobId !== lastProbeId || now >= openUntil + OTHERS_FIRST_MS
}

/** Whether a probe is out there whose answer may still come. */
export function isProbed({ probe }: Dependency, now: number): boolean {
  return probe !== undefined && now < probe.until
}

/** Jobs that may start only once are never sent ahead. Where there are no others, time has to open the dependency. */
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
      ? `"${dependency.key}" asked to be left alone for ${formatMs(from - now)}`
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
    return [dependency, { kind: 'defer', delayMs, why, by: 'budget' }]
  }
  const delayMs = Math.ceil(at - now)
  return [
    { ...dependency, nextRetryAt: at + stepMs },
    { kind: 'defer', delayMs, why, pass: dependency.round, by: 'budget' },
  ]
}

/** How many retries may start in a second, by the first attempts of the last seconds. */
export function retriesPerSecond(
  dependency: Dependency,
  { ratio, minPerSecond, windowMs }: BudgetSettings,
  now: number,
): number {
  const first = dependency.starts.filter(({ at }) => at > now - windowMs).reduce((sum, start) => sum + start.first, 0)
  return (ratio * first * 1_000) / windowMs + minPerSecond
}

/** Slots were given when there were more first attempts; by now they may be too many. */
function isOverBudget(dependency: Dependency, budget: BudgetSettings, now: number): boolean {
  const retries = dependency.starts
    .filter(({ at }) => at > now - budget.windowMs)
    .reduce((sum, start) => sum + start.retry, 0)
  return retries > 1.1 * retriesPerSecond(dependency, budget, now) * (budget.windowMs / 1_000) + 1
}

/** Counts what was seen, and opens the circuit where it was too much. `why` is the last failure, in words. */
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

function counted<T extends Readonly<Record<string, number>>>(
  old: readonly (T & { readonly at: number })[],
  count: T,
  windowMs: number,
  now: number,
): readonly (T & { readonly at: number })[] {
  const sizeMs = windowMs / BUCKETS
  const at = Math.floor(now / sizeMs) * sizeMs
  const kept = old.filter(bucket => bucket.at > now - windowMs)
  const last = kept.at(-1)
  if (last?.at !== at) return [...kept, { ...count, at }]
  const sum = Object.fromEntries(Object.entries(count).map(([what, by]) => [what, last[what]! + by]))
  return [...kept.slice(0, -1), { ...last, ...sum }]
}

function isTooMuch(dependency: Dependency, { minimumCalls, failureRate }: CircuitSettings): boolean {
  const failed = dependency.calls.reduce((sum, call) => sum + call.failed, 0)
  const all = dependency.calls.reduce((sum, call) => sum + call.ok, failed)
  // What has just come back up and fails again is not given the benefit of a whole window.
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

/** The circuit closes: what waited comes back step by step. */
function closing(dependency: Dependency, now: number, rampFrom = now): Dependency {
  const { openUntil, probe, probeCalledAt, reason, forced, nextRetryAt, ...rest } = dependency
  return { ...rest, circuit: 'ramping', round: dependency.round + 1, changedAt: now, rampFrom, taken: 0, calls: [] }
}

/** `unsure`: it ended without telling whether the other side is there; another job may try at once. */
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

/** One process asks for the probe; where nothing comes of it, another may a little later. */
export function callProbe(dependency: Dependency, now: number): Dependency | undefined {
  const { circuit, forced, openUntil = 0, probeCalledAt } = dependency
  if (circuit !== 'open' || forced || now < openUntil || isProbed(dependency, now)) return undefined
  if (probeCalledAt !== undefined && now < probeCalledAt + OTHERS_FIRST_MS) return undefined
  return { ...dependency, probeCalledAt: now }
}

/** The other side said for how long it wants to be left alone: true for everybody. */
export function throttled(given: Dependency, forMs: number, now: number): Dependency {
  const dependency = advanced(given, now)
  const until = Math.ceil(now + forMs)
  if (dependency.forced === 'closed') return dependency
  if (dependency.circuit === 'open') return { ...dependency, openUntil: Math.max(dependency.openUntil ?? 0, until) }
  const isKnown = dependency.circuit === 'ramping' && dependency.rampFrom! >= until - 1_000
  return isKnown ? dependency : closing(dependency, now, until)
}

/** By hand: held open, held closed, or left to itself again (closed, with a ramp if it was open). */
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

/** Takes this many slots of the ramp at once, for jobs that were parked. */
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

/** Where parked jobs of an open dependency go: behind the next probe, spread as they would be released. */
export function parkDelaysMs(dependency: Dependency, count: number, now: number): readonly number[] {
  const shutMs = Math.max(0, (dependency.openUntil ?? now) - now) + PARK_GRACE_MS
  const ramp = rampOf(dependency)
  return Array.from({ length: count }, (_, index) => shutMs + rampDelayMs(ramp, index))
}

function rampOf({ settings }: Dependency): Ramp {
  return settings.circuit?.ramp ?? RAMP_DEFAULT
}

/** What people call the state of a dependency. */
export type CircuitState = 'closed' | 'open' | 'half-open' | 'ramping'

export function circuitState(dependency: Dependency, now: number): CircuitState {
  const { circuit } = advanced(dependency, now)
  return circuit === 'open' && isProbed(dependency, now) ? 'half-open' : circuit
}
