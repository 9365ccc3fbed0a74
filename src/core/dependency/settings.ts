import { type Duration, HOUR_MS, toMs } from '../values/duration.js'
import { ChronosError, shown } from '../values/error.js'
import { type Form, readForm } from '../values/options-reader.js'
import { RAMP_DEFAULT, type Ramp } from './ramp.js'

/** When a dependency shuts, for how long, and how it opens again. `true` takes every default; `false` switches off a wider one. */
export type CircuitInput = boolean | CircuitOptions
export interface CircuitOptions {
  /** How far back calls are counted. Default 60 s. */
  readonly window?: Duration
  /** Fewer calls than this in the window say nothing. Default 20. */
  readonly minimumCalls?: number
  /** The share of failed calls at which it opens. Default 0.5. */
  readonly failureRate?: number
  /** The first open period; each one that follows without recovery is `openFactor` times as long, up to `openMax`. */
  readonly openFor?: Duration
  readonly openFactor?: number
  readonly openMax?: Duration
  /** Starts per second after closing, doubling every so often. Default 5/s, every 5 s. */
  readonly ramp?: { readonly perSecond?: number; readonly doubleEvery?: Duration }
}

/** Retries may be at most `ratio` of the first attempts, plus `minPerSecond`. `true` means 20 % + 1/s. */
export type BudgetInput = boolean | BudgetOptions
export interface BudgetOptions {
  readonly ratio?: number
  readonly minPerSecond?: number
  /** How far back first attempts are counted. Default 10 s. */
  readonly window?: Duration
}

export interface CircuitSettings {
  readonly windowMs: number
  readonly minimumCalls: number
  readonly failureRate: number
  readonly openForMs: number
  readonly openFactor: number
  readonly openMaxMs: number
  readonly ramp: Ramp
}

export interface BudgetSettings {
  readonly ratio: number
  readonly minPerSecond: number
  readonly windowMs: number
}

const WINDOW_MAX_MS = HOUR_MS

/** Checks, and returns what was written: people read policies back. */
export function parseCircuit(input: unknown, where: string): CircuitInput {
  circuitSettings(input, where)
  return input as CircuitInput
}

export function parseBudget(input: unknown, where: string): BudgetInput {
  budgetSettings(input, where)
  return input as BudgetInput
}

const CIRCUIT_KEYS = ['window', 'minimumCalls', 'failureRate', 'openFor', 'openFactor', 'openMax', 'ramp'] as const

export function circuitSettings(input: unknown, where = 'circuit'): CircuitSettings | undefined {
  const form = formOf(input, where, CIRCUIT_KEYS)
  if (form === undefined) return undefined
  const openForMs = time(form, 'openFor', where, 30_000, { min: 100, max: WINDOW_MAX_MS })
  return {
    windowMs: time(form, 'window', where, 60_000, { min: 1_000, max: WINDOW_MAX_MS }),
    minimumCalls: number(form, 'minimumCalls', where, 20, { min: 1, max: 1_000_000, whole: true }),
    failureRate: number(form, 'failureRate', where, 0.5, { min: 0.01, max: 1 }),
    openForMs,
    openFactor: number(form, 'openFactor', where, 2, { min: 1, max: 100 }),
    openMaxMs: Math.max(openForMs, time(form, 'openMax', where, 600_000, { min: 100, max: 24 * HOUR_MS })),
    ramp: rampOf(form.get('ramp'), `${where}.ramp`),
  }
}

export function budgetSettings(input: unknown, where = 'budget'): BudgetSettings | undefined {
  const form = formOf(input, where, ['ratio', 'minPerSecond', 'window'])
  if (form === undefined) return undefined
  return {
    ratio: number(form, 'ratio', where, 0.2, { min: 0, max: 1 }),
    minPerSecond: number(form, 'minPerSecond', where, 1, { min: 0.01, max: 1_000_000 }),
    windowMs: time(form, 'window', where, 10_000, { min: 1_000, max: WINDOW_MAX_MS }),
  }
}

function rampOf(input: unknown, where: string): Ramp {
  if (input === undefined) return RAMP_DEFAULT
  const form = readForm(input, where, ['perSecond', 'doubleEvery'], 'INVALID_POLICY')
  return {
    perSecond: number(form, 'perSecond', where, RAMP_DEFAULT.perSecond, { min: 0.1, max: 1_000_000 }),
    doubleEveryMs: time(form, 'doubleEvery', where, RAMP_DEFAULT.doubleEveryMs, { min: 100, max: WINDOW_MAX_MS }),
  }
}

function formOf(input: unknown, where: string, keys: readonly string[]): Form | undefined {
  if (input === undefined || input === false) return undefined
  return input === true ? new Map() : readForm(input, where, keys, 'INVALID_POLICY')
}

function time(form: Form, key: string, where: string, byDefault: number, limits: { min: number; max: number }): number {
  return form.has(key) ? toMs(form.get(key), `${where}.${key}`, limits) : byDefault
}

function number(
  form: Form,
  key: string,
  where: string,
  byDefault: number,
  { min, max, whole = false }: { readonly min: number; readonly max: number; readonly whole?: boolean },
): number {
  if (!form.has(key)) return byDefault
  const value = form.get(key)
  if (typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value))) return value
  const kind = whole ? 'a whole number' : 'a number'
  throw new ChronosError(
    'INVALID_POLICY',
    `${where}.${key}: expected ${kind} from ${min} to ${max}, got ${shown(value)}`,
  )
}
