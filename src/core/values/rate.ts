import { ChronosError, shown } from './error.js'

/** How often per second. `'20/s'`, `'600/m'`, `'5000/h'`, or a number per second. */
export type Rate = number | `${number}/${'s' | 'm' | 'h'}`

const PER: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 }
export const RATE_MAX = 100_000

/** Per second; `what` is the name of the setting in the error. */
export function toRate(value: unknown, what: string): number {
  const match = typeof value === 'string' ? /^(\d{1,9}(?:\.\d{1,6})?)\/(s|m|h)$/.exec(value) : undefined
  const perSecond = match ? Number(match[1]) / PER[match[2]!]! : value
  if (typeof perSecond === 'number' && perSecond > 0 && perSecond <= RATE_MAX) return perSecond
  throw new ChronosError(
    'INVALID_OPTION',
    `${what}: expected a rate above 0 and up to ${RATE_MAX}/s, such as "20/s" or "600/m", got ${shown(value)}`,
  )
}

/** `20/s`, `30/m`: whole where it can be. */
export function formatRate(perSecond: number): string {
  if (perSecond >= 1) return `${Number(perSecond.toFixed(2))}/s`
  return perSecond * 60 >= 1
    ? `${Number((perSecond * 60).toFixed(2))}/m`
    : `${Number((perSecond * 3_600).toFixed(2))}/h`
}
