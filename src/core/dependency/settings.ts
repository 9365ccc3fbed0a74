import { type Duration, HOUR_MS, toMs } from '../values/duration.js'
import { about, boolean, duration, type Infer, integer, number, read } from '../values/schema.js'
import { object, union } from '../values/shape.js'
import { RAMP_DEFAULT, type Ramp } from './ramp.js'

const WINDOW_MAX_MS = HOUR_MS

const window = duration({ min: 1_000, max: WINDOW_MAX_MS })

const ramp = object(
  {},
  {
    perSecond: number(0.1, 1_000_000),
    doubleEvery: duration({ min: 100, max: WINDOW_MAX_MS }),
  },
)

export const circuitOptions = object(
  {},
  {
    window: about(window, 'How far back calls are counted. Default 60s.'),
    minimumCalls: about(integer(1, 1_000_000), 'With fewer calls in the window, the circuit stays closed. Default 20.'),
    failureRate: about(number(0.01, 1), 'The share of failed calls at which it opens. Default 0.5.'),
    openFor: about(
      duration({ min: 100, max: WINDOW_MAX_MS }),
      'The first open period. Each one that follows without recovery is `openFactor` times as long, up to `openMax`. Default 30s.',
    ),
    openFactor: about(number(1, 100), 'Default 2.'),
    openMax: about(duration({ min: 100, max: 24 * HOUR_MS }), 'Default 10m.'),
    ramp: about(ramp, 'Starts per second after closing, doubling every so often. Default 5/s, every 5s.'),
  },
)

export const budgetOptions = object(
  {},
  {
    ratio: about(number(0, 1), 'Retries per first attempt. Default 0.2.'),
    minPerSecond: about(number(0.01, 1_000_000), 'Retries per second that are always allowed. Default 1.'),
    window: about(window, 'How far back first attempts are counted. Default 10s.'),
  },
)

/** When a circuit opens, for how long, and how it closes again. `true` takes every default; `false` switches off a wider one. */
export const circuitInput = union(boolean, circuitOptions)
/** Retries may be at most `ratio` of the first attempts, plus `minPerSecond`. `true` means 20 % + 1/s. */
export const budgetInput = union(boolean, budgetOptions)

export type CircuitOptions = Infer<typeof circuitOptions>
export type CircuitInput = Infer<typeof circuitInput>
export type BudgetOptions = Infer<typeof budgetOptions>
export type BudgetInput = Infer<typeof budgetInput>

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

const ms = (given: Duration | undefined, byDefault: number): number =>
  given === undefined ? byDefault : toMs(given, 'duration')

export function circuitSettings(input: unknown, where = 'circuit'): CircuitSettings | undefined {
  if (input === undefined || input === false) return undefined
  const given = read(circuitInput, input, where, 'INVALID_POLICY')
  const options: CircuitOptions = typeof given === 'boolean' ? {} : given
  const openForMs = ms(options.openFor, 30_000)
  return {
    windowMs: ms(options.window, 60_000),
    minimumCalls: options.minimumCalls ?? 20,
    failureRate: options.failureRate ?? 0.5,
    openForMs,
    openFactor: options.openFactor ?? 2,
    openMaxMs: Math.max(openForMs, ms(options.openMax, 600_000)),
    ramp: {
      perSecond: options.ramp?.perSecond ?? RAMP_DEFAULT.perSecond,
      doubleEveryMs: ms(options.ramp?.doubleEvery, RAMP_DEFAULT.doubleEveryMs),
    },
  }
}

export function budgetSettings(input: unknown, where = 'budget'): BudgetSettings | undefined {
  if (input === undefined || input === false) return undefined
  const given = read(budgetInput, input, where, 'INVALID_POLICY')
  const { ratio = 0.2, minPerSecond = 1, window: back }: BudgetOptions = typeof given === 'boolean' ? {} : given
  return { ratio, minPerSecond, windowMs: ms(back, 10_000) }
}
