import { parseRetryAfter } from '../failure/retry-after.js'
import { headerOf, linksOf } from '../failure/thrown.js'
import type { Lesson } from './pace.js'

// What a response says about the rate of its partition, for `learn`.

/** The value of a response header, if there is one. */
export type Headers = (name: string) => unknown

/** The headers that are read, besides `Retry-After`. */
export const RATE_HEADERS = [
  'ratelimit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
] as const

const TOO_MANY_REQUESTS = 429
const UNAVAILABLE = 503
const HEADER_MAX = 500
/** A reset further away than this is a time, in seconds or milliseconds since 1970. */
const RESET_MAX_S = 10 * 365 * 86_400

/**
 * What a thrown value teaches: a refusal, how long to wait, or what is left. `retryAfterMs` is what the handler itself has
 * said, as with `RetryAfter`.
 */
export function lessonOfError(thrown: unknown, retryAfterMs: number | undefined, now: number): Lesson | undefined {
  const link = linksOf(thrown).find(({ status }) => status !== undefined)
  const header: Headers = name => (link ? headerOf(link, name) : undefined)
  const isRefused = link?.status === TOO_MANY_REQUESTS
  const waitMs = retryAfterMs ?? (isRefused || link?.status === UNAVAILABLE ? retryAfterOf(header, now) : undefined)
  if (waitMs !== undefined) return { kind: 'wait', ms: waitMs }
  const left = lessonOfHeaders(header, now)
  if (!isRefused) return left
  return left?.kind === 'left' && left.ms > 0 ? { kind: 'wait', ms: left.ms } : { kind: 'refused' }
}

/** What the headers of any response say is left. */
export function lessonOfHeaders(header: Headers, now: number): Lesson | undefined {
  const found = [
    ...structured(textOf(header('ratelimit'))),
    pairOf(header, 'ratelimit-remaining', 'ratelimit-reset', now),
    pairOf(header, 'x-ratelimit-remaining', 'x-ratelimit-reset', now),
    pairOf(header, 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests', now),
  ].flatMap(one => one ?? [])
  // Several limits may apply; the one that allows the fewest starts counts.
  const [tightest] = found.sort((a, b) => a.starts / Math.max(1, a.ms) - b.starts / Math.max(1, b.ms))
  return tightest && { kind: 'left', ...tightest }
}

interface Left {
  readonly starts: number
  readonly ms: number
}

function retryAfterOf(header: Headers, now: number): number | undefined {
  return parseRetryAfter(textOf(header('retry-after')), now)
}

/** `"default";r=50;t=30` of the draft, one or more, and `limit=100, remaining=50, reset=30` of an earlier one. */
function structured(text: string | undefined): readonly Left[] {
  if (text === undefined) return []
  const named = (part: string, long: string, short: string): number | undefined =>
    numberOf(new RegExp(`(?:^|[;,\\s])(?:${long}|${short})=(\\d+(?:\\.\\d+)?)`, 'i').exec(part)?.[1])
  const parts = text.includes(';') ? text.split(',') : [text]
  return parts.flatMap(part => {
    const starts = named(part, 'remaining', 'r')
    const seconds = named(part, 'reset', 't')
    return starts === undefined || seconds === undefined ? [] : [{ starts, ms: Math.ceil(seconds * 1_000) }]
  })
}

function pairOf(header: Headers, remaining: string, reset: string, now: number): Left | undefined {
  const starts = numberOf(textOf(header(remaining)))
  const ms = resetOf(textOf(header(reset)), now)
  return starts === undefined || ms === undefined ? undefined : { starts, ms }
}

/** Seconds from now, a time in seconds or milliseconds since 1970, an HTTP date, or a text such as `6m0s`. */
function resetOf(text: string | undefined, now: number): number | undefined {
  const seconds = numberOf(text)
  if (seconds === undefined) return durationOf(text) ?? parseRetryAfter(text, now)
  if (seconds <= RESET_MAX_S) return Math.ceil(seconds * 1_000)
  const at = seconds > RESET_MAX_S * 1_000 ? seconds : seconds * 1_000
  return Math.max(0, Math.ceil(at - now))
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** `1s`, `6m0s`, `20ms` */
function durationOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  return Math.ceil(parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNIT_MS[unit!]!, 0))
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}(?:\.\d{1,6})?$/.test(text) ? Number(text) : undefined
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text.length <= HEADER_MAX ? text.trim() : undefined
}
