import { ChronosError, shown } from './error.js'

/** A number is milliseconds. Text has a unit and may have decimals: `'1.5s'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const PATTERN = /^(\d{1,16}(?:\.\d{1,16})?)(ms|s|m|h|d)$/

export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000
/** Five years. Longer waits are mistakes: a wrong unit, or seconds taken for milliseconds. */
export const DURATION_MAX_MS = 5 * 365 * DAY_MS

export interface DurationLimits {
  /** Milliseconds. */
  readonly min?: number
  readonly max?: number
}

/** Whole milliseconds; `what` is the name of the setting in the error. */
export function toMs(value: unknown, what: string, limits: DurationLimits = {}): number {
  const problem = durationProblem(value, limits)
  if (problem !== undefined) {
    throw new ChronosError('INVALID_DURATION', `${what}: ${problem}`, { details: { what } })
  }
  return Math.round(typeof value === 'string' ? parseDuration(value)! : (value as number))
}

/** What is wrong with a duration, in words. */
export function durationProblem(value: unknown, limits: DurationLimits): string | undefined {
  const exact = typeof value === 'string' ? parseDuration(value) : value
  if (typeof exact !== 'number' || !Number.isFinite(exact)) {
    return `expected a duration such as "30s" or a number of milliseconds, got ${shown(value)}`
  }
  const { min = 0, max = DURATION_MAX_MS } = limits
  // Checked before rounding, so that -0.4 is refused like any other negative number.
  if (exact < min) return `expected a duration of at least ${formatMs(min)}, got ${shown(value)}`
  if (exact > max) return `expected a duration of at most ${formatMs(max)}, got ${shown(value)}`
  return undefined
}

/** Exact milliseconds of text with a unit, or undefined when it is something else. No limits. */
export function parseDuration(text: string): number | undefined {
  const match = PATTERN.exec(text)
  return match ? Number(match[1]) * UNIT_MS[match[2]!]! : undefined
}

/** Short text for people, at most two units: `250ms`, `1.5s`, `4m 10s`, `2h`, `3d 4h`. */
export function formatMs(ms: number): string {
  if (!Number.isFinite(ms)) return ms > 0 ? 'for ever' : 'unknown'
  if (ms < 0) return `-${formatMs(-ms)}`
  if (Math.round(ms) < 1_000) return `${Math.round(ms)}ms`
  const tenths = Math.round(ms / 100)
  if (tenths < 600) return `${tenths / 10}s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return pair(seconds, 60, 'm', 's')
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1_440) return pair(minutes, 60, 'h', 'm')
  return pair(Math.round(ms / HOUR_MS), 24, 'd', 'h')
}

/** A duration as text that parses to the same value: `90s`, `1500ms`, `2h`. An absent one stays absent. */
export function durationText<T extends number | undefined>(ms: T): T extends number ? Duration : undefined
export function durationText(ms: number | undefined): Duration | undefined {
  if (ms === undefined) return undefined
  const unit = ['d', 'h', 'm', 's'].find(one => ms > 0 && ms % UNIT_MS[one]! === 0) ?? 'ms'
  return `${ms / UNIT_MS[unit]!}${unit}` as Duration
}

function pair(total: number, size: number, big: string, small: string): string {
  const rest = total % size
  return `${Math.floor(total / size)}${big}${rest > 0 ? ` ${rest}${small}` : ''}`
}
