import { parseDuration } from '../values/duration.js'

/**
 * Thrown by a handler when the other side said when to retry. The attempt counts like any other, but the next one does
 * not start before that time. An unreadable value makes it an ordinary throttled failure.
 */
export class RetryAfter extends Error {
  override readonly name: string = 'RetryAfter'
  /**
   * The values that a header may have: seconds as a number or as text, text with a unit (`'30s'`), a Date, or an HTTP
   * date.
   */
  readonly value: unknown

  constructor(
    value: number | string | Date | null | undefined,
    message = 'told to retry later',
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.value = value
  }
}

/** Milliseconds from now, or undefined if the value can't be read. Never throws. */
export function retryAfterMs(value: unknown, now: number): number | undefined {
  if (typeof value === 'number') return value >= 0 && Number.isFinite(value) ? toWhole(value * 1_000) : undefined
  if (typeof value === 'string') return parseRetryAfter(value, now) ?? toWhole(parseDuration(value.trim()))
  return untilTime(timeOf(value), now)
}

/** Accepts dates of other realms; any other value throws here and counts as unreadable. */
function timeOf(value: unknown): number | undefined {
  try {
    return Date.prototype.getTime.call(value)
  } catch {
    return undefined
  }
}

const SECONDS = /^\d+(\.\d+)?$/
const HEADER_MAX = 64

/** The `Retry-After` header (RFC 9110 §10.2.3): seconds, or one of the three forms of an HTTP date. */
export function parseRetryAfter(header: string | null | undefined, now: number): number | undefined {
  const text = header?.trim()
  if (text === undefined || text.length > HEADER_MAX) return undefined
  if (SECONDS.test(text)) return toWhole(Number(text) * 1_000)
  return untilTime(parseHttpDate(text, now), now)
}

function toWhole(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER)
}

function untilTime(time: number | undefined, now: number): number | undefined {
  return time === undefined || Number.isNaN(time) ? undefined : Math.max(0, time - now)
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const TIME = '(?<h>\\d{2}):(?<m>\\d{2}):(?<s>\\d{2})'
const MONTH = `(?<month>${MONTHS.join('|')})`
const FORMS = [
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d{2}) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^[A-Z][a-z]{2,5}day, (?<day>\\d{2})-${MONTH}-(?<year>\\d{2}) ${TIME} GMT$`),
  // asctime has no zone; HTTP defines it as UTC.
  new RegExp(`^[A-Z][a-z]{2} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
]

function parseHttpDate(text: string, now: number): number | undefined {
  for (const form of FORMS) {
    const part = form.exec(text)?.groups
    if (part === undefined) continue
    const [day, h, m, s] = [Number(part['day']), Number(part['h']), Number(part['m']), Number(part['s'])]
    const year = part['year']!.length === 2 ? fullYear(Number(part['year']), now) : Number(part['year'])
    const midnight = new Date(Date.UTC(year, MONTHS.indexOf(part['month']!), day))
    if (midnight.getUTCDate() !== day || h > 23 || m > 59 || s > 60) return undefined
    return midnight.getTime() + ((h * 60 + m) * 60 + s) * 1_000
  }
  return undefined
}

/** A two-digit year is the nearest one that is at most fifty years ahead (RFC 9110 §5.6.7). */
function fullYear(twoDigits: number, now: number): number {
  const thisYear = new Date(now).getUTCFullYear()
  const guess = thisYear - (thisYear % 100) + twoDigits
  if (guess > thisYear + 50) return guess - 100
  return guess <= thisYear - 50 ? guess + 100 : guess
}
