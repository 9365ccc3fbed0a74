import { formatMs } from './duration.js'
import type { BudgetSettings, CircuitSettings } from './gate-settings.js'
import { RAMP_DEFAULT, type Ramp, rampDelayMs, rampedBy, rampLengthMs } from './ramp.js'

/**
 * What all jobs that depend on one thing share: its circuit, its retry budget and the word of the other side that it
 * wants to be left alone. Plain data that is kept in the store; every function here returns the next state of it.
 */
export interface Gate {
  readonly key: string
  readonly settings: GateSettings
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

export interface GateSettings {
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

/** What was seen at a gate since it was last told. */
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

/** Parked jobs come due by themselves this long after the gate could have opened: nothing waits on a loop's word alone. */
export const PARK_GRACE_MS = 40_000
/** A job that was the last probe leaves the next one to others for so long. */
const OTHERS_FIRST_MS = 5_000
/** Slots of a budget are given away at most so far ahead. */
const BUDGET_HORIZON_MS = 60_000
/** Unused slots are lost after so long: what waited must not come all at once. */
const SLOT_LIFE_MS = 500
const BUCKETS = 10

export function newGate(key: string, settings: GateSettings, now: number): Gate {
  return { key, settings, circuit: 'closed', round: 1, changedAt: now, openings: 0, taken: 0, calls: [], starts: [] }
}

/** What the policies of the jobs say now. */
export function withSettings(gate: Gate, settings: GateSettings): Gate {
  return gate.settings === settings ? gate : { ...gate, settings }
}

/** Whether a job may pass without asking: the common case, which must cost nothing. */
export function isFree(gate: Gate, isRetry: boolean): boolean {
  return gate.circuit === 'closed' && gate.forced !== 'open' && !(isRetry && gate.settings.budget)
}

/** What time alone changes: a ramp that has been climbed is over. */
export function advanced(gate: Gate, now: number): Gate {
  if (gate.circuit !== 'ramping' || now < gate.rampFrom! + rampLengthMs(rampOf(gate))) return gate
  const { rampFrom, ...rest } = gate
  return { ...rest, circuit: 'closed', openings: 0, taken: 0, changedAt: now }
}

export function admit(given: Gate, ask: Ask, now: number, random: () => number): readonly [Gate, Verdict] {
  const gate = advanced(given, now)
  if (gate.forced === 'closed') return [gate, GO]
  if (gate.circuit === 'open') return admitOpen(gate, ask, now, random)
  const { budget } = gate.settings
  const isCounted = ask.isRetry && budget !== undefined && gate.circuit === 'closed'
  if (ask.pass === gate.round && !(isCounted && isOverBudget(gate, budget, now))) return [gate, GO]
  if (gate.circuit === 'ramping') return admitRamping(gate, now)
  return isCounted ? admitRetry(gate, budget, now, random) : [gate, GO]
}

const GO: Verdict = { kind: 'go' }

function admitOpen(gate: Gate, ask: Ask, now: number, random: () => number): readonly [Gate, Verdict] {
  if (mayProbe(gate, ask, now)) {
    const probe = { jobId: ask.jobId, workerId: ask.workerId, until: now + ask.probeMs }
    return [{ ...gate, probe }, { kind: 'probe' }]
  }
  if (isTiredOfWaiting(gate, ask, now)) return admitRamping(closing(gate, now), now)
  const shutMs = Math.max(0, (gate.openUntil ?? now) - now)
  const why = gate.forced
    ? `the circuit "${gate.key}" is held open by hand`
    : `the circuit "${gate.key}" is open${because(gate)}`
  const delayMs = Math.ceil(shutMs + PARK_GRACE_MS * (1 + random() / 4))
  return [gate, { kind: 'defer', delayMs, why, pass: gate.round, by: 'circuit' }]
}

const because = ({ reason }: Gate): string => (reason === undefined ? '' : `: ${reason}`)

function mayProbe(gate: Gate, { jobId, isRepeatable }: Ask, now: number): boolean {
  const { forced, openUntil = 0, lastProbeId } = gate
  if (forced || !isRepeatable || now < openUntil || isProbed(gate, now)) return false
  return jobId !== lastProbeId || now >= openUntil + OTHERS_FIRST_MS
}

/** Whether a probe is out there whose answer may still come. */
export function isProbed({ probe }: Gate, now: number): boolean {
  return probe !== undefined && now < probe.until
}

/** Jobs that may start only once are never sent ahead. Where there are no others, time has to open the gate. */
function isTiredOfWaiting(gate: Gate, { isRepeatable }: Ask, now: number): boolean {
  const { forced, openUntil = 0, changedAt } = gate
  return (
    !isRepeatable &&
    !forced &&
    !isProbed(gate, now) &&
    now >= openUntil + Math.max(PARK_GRACE_MS, openUntil - changedAt)
  )
}

function admitRamping(gate: Gate, now: number): readonly [Gate, Verdict] {
  const ramp = rampOf(gate)
  const from = gate.rampFrom!
  const lapsed = now - SLOT_LIFE_MS > from ? Math.floor(rampedBy(ramp, now - SLOT_LIFE_MS - from)) : 0
  const rank = Math.max(gate.taken, lapsed)
  const delayMs = Math.ceil(from + rampDelayMs(ramp, rank) - now)
  const next = { ...gate, taken: rank + 1 }
  if (delayMs <= 0) return [next, GO]
  const why =
    now < from
      ? `"${gate.key}" asked to be left alone for ${formatMs(from - now)}`
      : `the circuit "${gate.key}" has closed and lets jobs through step by step`
  return [next, { kind: 'defer', delayMs, why, pass: gate.round, by: 'ramp' }]
}

function admitRetry(gate: Gate, budget: BudgetSettings, now: number, random: () => number): readonly [Gate, Verdict] {
  const stepMs = 1_000 / retriesPerSecond(gate, budget, now)
  const at = Math.max(gate.nextRetryAt ?? 0, isOverBudget(gate, budget, now) ? now + stepMs : now - 1_000)
  if (at <= now) return [{ ...gate, nextRetryAt: at + stepMs }, GO]
  const why = `the retry budget of "${gate.key}" is used`
  if (at - now > BUDGET_HORIZON_MS) {
    const delayMs = Math.ceil(BUDGET_HORIZON_MS * (1 + random()))
    return [gate, { kind: 'defer', delayMs, why, by: 'budget' }]
  }
  const delayMs = Math.ceil(at - now)
  return [
    { ...gate, nextRetryAt: at + stepMs },
    { kind: 'defer', delayMs, why, pass: gate.round, by: 'budget' },
  ]
}

/** How many retries may start in a second, by the first attempts of the last seconds. */
export function retriesPerSecond(gate: Gate, { ratio, minPerSecond, windowMs }: BudgetSettings, now: number): number {
  const first = gate.starts.filter(({ at }) => at > now - windowMs).reduce((sum, start) => sum + start.first, 0)
  return (ratio * first * 1_000) / windowMs + minPerSecond
}

/** Slots were given when there were more first attempts; by now they may be too many. */
function isOverBudget(gate: Gate, budget: BudgetSettings, now: number): boolean {
  const retries = gate.starts
    .filter(({ at }) => at > now - budget.windowMs)
    .reduce((sum, start) => sum + start.retry, 0)
  return retries > 1.1 * retriesPerSecond(gate, budget, now) * (budget.windowMs / 1_000) + 1
}

/** Counts what was seen, and opens the circuit where it was too much. `why` is the last failure, in words. */
export function seen(given: Gate, { ok, failed, first, retry }: Seen, now: number, why?: string): Gate {
  const gate = advanced(given, now)
  const { circuit, budget } = gate.settings
  const starts =
    budget && first + retry > 0 ? counted(gate.starts, { first, retry }, budget.windowMs, now) : gate.starts
  if (!circuit || gate.circuit === 'open' || ok + failed === 0) return { ...gate, starts }
  const calls = counted(gate.calls, { ok, failed }, circuit.windowMs, now)
  const next = { ...gate, starts, calls }
  return !gate.forced && failed > 0 && isTooMuch(next, circuit) ? opening(next, circuit, now, why) : next
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

function isTooMuch(gate: Gate, { minimumCalls, failureRate }: CircuitSettings): boolean {
  const failed = gate.calls.reduce((sum, call) => sum + call.failed, 0)
  const all = gate.calls.reduce((sum, call) => sum + call.ok, failed)
  // What has just come back up and fails again is not given the benefit of a whole window.
  const enough = gate.circuit === 'ramping' ? Math.max(2, Math.ceil(minimumCalls / 4)) : minimumCalls
  return all >= enough && failed / all >= failureRate
}

function opening(gate: Gate, settings: CircuitSettings, now: number, reason: string | undefined): Gate {
  const { rampFrom, probe, probeCalledAt, reason: _, ...rest } = gate
  const { openForMs, openFactor, openMaxMs } = settings
  const openMs = Math.min(openMaxMs, openForMs * openFactor ** gate.openings)
  return {
    ...rest,
    circuit: 'open',
    round: gate.round + 1,
    changedAt: now,
    openUntil: Math.ceil(now + openMs),
    openings: gate.openings + 1,
    taken: 0,
    calls: [],
    ...(reason !== undefined && { reason }),
  }
}

/** The circuit closes: what waited comes back step by step. */
function closing(gate: Gate, now: number, rampFrom = now): Gate {
  const { openUntil, probe, probeCalledAt, reason, forced, nextRetryAt, ...rest } = gate
  return { ...rest, circuit: 'ramping', round: gate.round + 1, changedAt: now, rampFrom, taken: 0, calls: [] }
}

/** `unsure`: it ended without telling whether the other side is there; another job may try at once. */
export function probed(gate: Gate, jobId: string, answer: 'up' | 'down' | 'unsure', now: number, why?: string): Gate {
  if (gate.circuit !== 'open' || gate.probe?.jobId !== jobId || gate.forced) return gate
  if (answer === 'up') return closing(gate, now)
  const { probe, probeCalledAt, ...rest } = gate
  if (answer === 'unsure') return { ...rest, lastProbeId: jobId, openUntil: now }
  const settings = gate.settings.circuit
  return settings ? { ...opening(gate, settings, now, why ?? gate.reason), lastProbeId: jobId } : closing(gate, now)
}

/** One process asks for the probe; where nothing comes of it, another may a little later. */
export function callProbe(gate: Gate, now: number): Gate | undefined {
  const { circuit, forced, openUntil = 0, probeCalledAt } = gate
  if (circuit !== 'open' || forced || now < openUntil || isProbed(gate, now)) return undefined
  if (probeCalledAt !== undefined && now < probeCalledAt + OTHERS_FIRST_MS) return undefined
  return { ...gate, probeCalledAt: now }
}

/** The other side said for how long it wants to be left alone: true for everybody. */
export function throttled(given: Gate, forMs: number, now: number): Gate {
  const gate = advanced(given, now)
  const until = Math.ceil(now + forMs)
  if (gate.forced === 'closed') return gate
  if (gate.circuit === 'open') return { ...gate, openUntil: Math.max(gate.openUntil ?? 0, until) }
  const isKnown = gate.circuit === 'ramping' && gate.rampFrom! >= until - 1_000
  return isKnown ? gate : closing(gate, now, until)
}

/** By hand: held open, held closed, or left to itself again (closed, with a ramp if it was open). */
export function force(gate: Gate, to: 'open' | 'closed' | 'auto', now: number): Gate {
  if (to === 'open') {
    const { probe, probeCalledAt, rampFrom, openUntil, reason, ...rest } = gate
    return { ...rest, circuit: 'open', forced: 'open', round: gate.round + 1, changedAt: now, taken: 0, calls: [] }
  }
  const closed = gate.circuit === 'open' ? { ...closing(gate, now), openings: 0 } : gate
  const { forced, ...auto } = closed
  return to === 'closed' ? { ...auto, forced: 'closed', changedAt: now } : { ...auto, changedAt: now }
}

/** Takes this many slots of the ramp at once, for jobs that were parked. */
export function takeSlots(
  gate: Gate,
  count: number,
  now: number,
): { readonly gate: Gate; readonly delaysMs: readonly number[] } {
  const ramp = rampOf(gate)
  const from = gate.rampFrom ?? now
  const delaysMs = Array.from({ length: count }, (_, index) =>
    Math.max(0, from + rampDelayMs(ramp, gate.taken + index) - now),
  )
  return { gate: { ...gate, taken: gate.taken + count }, delaysMs }
}

/** Where parked jobs of an open gate go: behind the next probe, spread as they would be released. */
export function parkDelaysMs(gate: Gate, count: number, now: number): readonly number[] {
  const shutMs = Math.max(0, (gate.openUntil ?? now) - now) + PARK_GRACE_MS
  const ramp = rampOf(gate)
  return Array.from({ length: count }, (_, index) => shutMs + rampDelayMs(ramp, index))
}

function rampOf({ settings }: Gate): Ramp {
  return settings.circuit?.ramp ?? RAMP_DEFAULT
}

/** What people call the state of a gate. */
export type CircuitState = 'closed' | 'open' | 'half-open' | 'ramping'

export function circuitState(gate: Gate, now: number): CircuitState {
  const { circuit } = advanced(gate, now)
  return circuit === 'open' && isProbed(gate, now) ? 'half-open' : circuit
}
