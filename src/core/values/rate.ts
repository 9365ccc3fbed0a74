import { shown } from './error.js'
import { flaw, schema } from './schema.js'

/** How often per second. `'20/s'`, `'600/m'`, `'5000/h'`, or a number per second. */
export type Rate = number | `${number}/${'s' | 'm' | 'h'}`

const PER: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 }
export const RATE_MAX = 100_000

export const rate = schema<Rate>({
  kinds: ['string', 'number'],
  expects: `a rate above 0 and up to ${RATE_MAX}/s, such as "20/s" or "600/m"`,
  check(given) {
    const perSecond = perSecondOf(given)
    if (perSecond > 0 && perSecond <= RATE_MAX) return given as Rate
    throw flaw(`expected ${rate.expects}, got ${shown(given)}`)
  },
  json: () => ({
    anyOf: [
      { type: 'string', minLength: 1, maxLength: 40 },
      { type: 'number', exclusiveMinimum: 0, maximum: RATE_MAX },
    ],
    description: 'Starts per second, minute or hour: 20/s, 600/m, 5000/h.',
    example: '20/s',
  }),
})

/** A checked rate per second. */
export function perSecondOf(given: unknown): number {
  const match = typeof given === 'string' ? /^(\d{1,9}(?:\.\d{1,6})?)\/(s|m|h)$/.exec(given) : undefined
  if (match) return Number(match[1]) / PER[match[2]!]!
  return typeof given === 'number' ? given : Number.NaN
}

/** `20/s`, `30/m`: whole where it can be. */
export function formatRate(perSecond: number): string {
  if (perSecond >= 1) return `${Number(perSecond.toFixed(2))}/s`
  return perSecond * 60 >= 1
    ? `${Number((perSecond * 60).toFixed(2))}/m`
    : `${Number((perSecond * 3_600).toFixed(2))}/h`
}
