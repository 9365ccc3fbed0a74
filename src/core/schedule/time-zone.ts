import { type Schema, value } from '../values/schema.js'

const MINUTE_MS = 60_000
const WEEK_MS = 7 * 86_400_000
const ZONES_MAX = 1_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** A name of the IANA database that this machine knows, including `UTC`. */
export const timeZone: Schema<string> = value(
  {
    kinds: ['string'],
    expects: 'a time zone such as "Europe/Paris" or "UTC"',
    json: { type: 'string', minLength: 1, maxLength: 64 },
  },
  given => typeof given === 'string' && given.length <= 64 && /^[A-Za-z]/.test(given) && formatOf(given) !== undefined,
)

/** The offset from UTC at this moment. */
export function offsetMs(timeZone: string, at: number): number {
  if (timeZone === 'UTC') return 0
  const found = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)/.exec(formatOf(timeZone)!.format(at))
  const [month, day, year, hour, minute, second] = found!.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1_000) * 1_000
}

/** When its clocks next change after `from`, if that is not later than `until`. */
export function nextChange(timeZone: string, from: number, until: number): number | undefined {
  if (timeZone === 'UTC') return undefined
  const before = offsetMs(timeZone, from)
  let low = from
  while (low < until) {
    // No zone changes its clocks and reverts the change within a week.
    const high = Math.min(low + WEEK_MS, until)
    if (offsetMs(timeZone, high) !== before) return firstAfter(timeZone, before, low, high)
    low = high
  }
  return undefined
}

/** Clocks change on whole minutes. */
function firstAfter(timeZone: string, before: number, from: number, until: number): number {
  let low = Math.floor(from / MINUTE_MS)
  let high = Math.ceil(until / MINUTE_MS)
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetMs(timeZone, middle * MINUTE_MS) === before) low = middle
    else high = middle
  }
  return high * MINUTE_MS
}

function formatOf(timeZone: string): Intl.DateTimeFormat | undefined {
  const known = formats.get(timeZone)
  if (known) return known
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    if (formats.size >= ZONES_MAX) formats.clear()
    formats.set(timeZone, format)
    return format
  } catch {
    return undefined
  }
}
