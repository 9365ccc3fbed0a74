import type { Count } from './count.js'

// Numbers as people read them: the same in the dashboard, the CLI and sentences of core.

const GROUPS = new Intl.NumberFormat('en-US')

/** `2,314`; `10,000+` where counting stopped; `unknown` where it stopped before it found any. */
export function countText(count: number | Count): string {
  if (typeof count === 'number') return GROUPS.format(count)
  const { value, relation } = count
  if (relation === 'exact') return GROUPS.format(value)
  return value === 0 ? 'unknown' : `${GROUPS.format(value)}+`
}

/** `1 job`, `2,314 jobs`. */
export function many(count: number | Count, one: string, several = `${one}s`): string {
  const isOne = typeof count === 'number' ? count === 1 : count.value === 1 && count.relation === 'exact'
  return `${countText(count)} ${isOne ? one : several}`
}

/** `0 %`, `0.4 %`, `12 %`, `99.97 %`: never rounded to 0 or 100 %. More than the whole is a factor: `2.0×`. */
export function percentText(share: number | undefined): string {
  if (share === undefined || Number.isNaN(share)) return '–'
  const value = share * 100
  if (value === 0 || value === 100) return `${value} %`
  if (value > 100) return `${ratioText(share)}×`
  if (value > 99) return `${Math.min(99.99, Math.round(value * 100) / 100)} %`
  return `${value < 10 ? Math.max(0.1, Math.round(value * 10) / 10) : Math.round(value)} %`
}

/**
 * The parts of a whole as shares that add up to exactly 100 %: whole percents, or tenths if a part is below 10 %. A part
 * that is not zero is never shown as 0 %.
 */
export function shareTexts(parts: readonly number[]): readonly string[] {
  const all = parts.reduce((sum, part) => sum + part, 0)
  if (all === 0) return parts.map(() => '–')
  const perPercent = parts.some(part => part > 0 && part / all < 0.1) ? 10 : 1
  const exact = parts.map(part => (part / all) * 100 * perPercent)
  const units = exact.map((value, i) => (parts[i]! > 0 ? Math.max(1, Math.floor(value)) : 0))
  const byRemainder = exact.map((value, i) => ({ i, rest: value - units[i]! })).sort((a, b) => b.rest - a.rest)
  const missing = 100 * perPercent - units.reduce((sum, unit) => sum + unit, 0)
  for (let n = 0; n < missing; n++) units[byRemainder[n % parts.length]!.i]!++
  // Tiny parts that were raised to one unit are taken from the largest part.
  if (missing < 0) units[units.indexOf(Math.max(...units))]! += missing
  return units.map(unit => `${unit / perPercent} %`)
}

/** `1.25`, `2.0`, `12`: two numbers in proportion. */
export function ratioText(ratio: number): string {
  return ratio >= 10 ? GROUPS.format(Math.round(ratio)) : ratio.toFixed(ratio < 2 ? 2 : 1)
}

/** Retries ÷ first attempts, in words: `20 % retries`, `2.0 retries per first attempt`. */
export function retryRateText(rate: number): string {
  return rate > 1 ? `${ratioText(rate)} retries per first attempt` : `${percentText(rate)} retries`
}

/** A rate per minute, in the unit that gives a number above one: `45/s`, `12/min`, `2.9/h`. */
export function rateText(perMinute: number): string {
  if (perMinute === 0) return '0/min'
  const [value, unit] =
    perMinute >= 600 ? [perMinute / 60, 's'] : perMinute >= 1 ? [perMinute, 'min'] : [perMinute * 60, 'h']
  return `${value >= 10 ? GROUPS.format(Math.round(value)) : value.toFixed(1)}/${unit}`
}
