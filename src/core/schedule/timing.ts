import { type Duration, formatMs, toMs } from '../values/duration.js'
import { ChronosError } from '../values/error.js'
import { hash64 } from '../values/hash.js'
import { present } from '../values/present.js'
import { parseCron, type Ticks } from './cron.js'
import { checkTimeZone } from './time-zone.js'

export type { Ticks } from './cron.js'

/** When a schedule's jobs are due, as plain data. Times are epoch milliseconds. */
export interface Timing {
  readonly cron?: string
  readonly everyMs?: number
  /** `every` always counts from here: a late occurrence does not move the next one. */
  readonly anchor?: number
  readonly timeZone: string
  readonly startAt?: number
  readonly endAt?: number
  /** Delays the jobs of a schedule by up to this long, each schedule by its own constant amount. */
  readonly splayMs?: number
}

export interface TimingInput {
  readonly cron?: string
  readonly every?: Duration
  readonly timeZone?: string
  readonly startAt?: number
  readonly endAt?: number
  readonly splay?: Duration
}

export const TIME_ZONE_DEFAULT = 'UTC'
const EVERY_MIN_MS = 1_000
const SPLAY_MAX_MS = 3_600_000
const SECOND_MS = 1_000

export function parseTiming(input: TimingInput, now: number, where: string): Timing {
  const { cron, every, timeZone = TIME_ZONE_DEFAULT, startAt, endAt, splay } = input
  if ((cron === undefined) === (every === undefined)) {
    throw new ChronosError('INVALID_OPTION', `${where}: give cron or every, ${cron === undefined ? 'one' : 'not both'}`)
  }
  atField('timeZone', where, what => checkTimeZone(timeZone, what))
  if (startAt !== undefined && endAt !== undefined && endAt < startAt) {
    throw fieldError('endAt', where, 'endAt is before startAt', 'is before startAt')
  }
  return {
    ...(cron !== undefined && { cron: atField('cron', where, what => cronText(cron, timeZone, what)) }),
    ...(every !== undefined && {
      everyMs: atField('every', where, what => toMs(every, what, { min: EVERY_MIN_MS })),
      anchor: startAt ?? now,
    }),
    timeZone,
    ...present({ startAt, endAt }),
    ...(splay !== undefined && { splayMs: atField('splay', where, what => toMs(splay, what, { max: SPLAY_MAX_MS })) }),
  }
}

/** Adds the path of the field to an error, so that a form can show the error beside the field. */
function atField<T>(field: keyof TimingInput, where: string, check: (what: string) => T): T {
  const what = `${where}: ${field}`
  try {
    return check(what)
  } catch (error) {
    if (!(error instanceof ChronosError)) throw error
    const detail = error.message.slice(what.length).replace(/^:? /, '')
    throw new ChronosError(error.code, error.message, { cause: error.cause, details: detailsOf(field, detail) })
  }
}

const fieldError = (field: keyof TimingInput, where: string, message: string, detail = message): ChronosError =>
  new ChronosError('INVALID_OPTION', `${where}: ${message}`, { details: detailsOf(field, detail) })

const detailsOf = (field: string, detail: string): Readonly<Record<string, unknown>> => ({
  path: [field],
  errors: [{ path: [field], detail }],
})

function cronText(cron: unknown, timeZone: string, what: string): string {
  parseCron(cron, timeZone, what)
  return (cron as string).trim()
}

/** Refuses a schedule without an occurrence after `now`, and a splay that would mix up two occurrences. */
export function checkHappens(timing: Timing, now: number, where: string): void {
  const ticks = ticksOf(timing, where)
  const first = ticks.next(now)
  if (first === undefined) {
    throw fieldError(timing.endAt === undefined ? 'cron' : 'endAt', where, 'it never happens between now and endAt')
  }
  const { splayMs = 0 } = timing
  const second = ticks.next(first)
  if (second !== undefined && splayMs >= second - first) {
    const gap = formatMs(second - first)
    throw fieldError(
      'splay',
      where,
      `a splay of ${formatMs(splayMs)} is not shorter than the ${gap} between two occurrences`,
    )
  }
}

export function ticksOf(timing: Timing, where = 'schedule'): Ticks {
  const { cron, everyMs, timeZone, startAt, endAt } = timing
  const all =
    cron !== undefined ? parseCron(cron, timeZone, `${where}: cron`) : everyTicks(everyMs!, timing.anchor ?? 0)
  if (startAt === undefined && endAt === undefined) return all
  return {
    next(after) {
      const tick = all.next(startAt === undefined ? after : Math.max(after, startAt - 1))
      return tick === undefined || (endAt !== undefined && tick > endAt) ? undefined : tick
    },
  }
}

function everyTicks(everyMs: number, anchor: number): Ticks {
  return {
    next: after => (after < anchor ? anchor : anchor + (Math.floor((after - anchor) / everyMs) + 1) * everyMs),
  }
}

export function nextTicks(ticks: Ticks, from: number, count: number): readonly number[] {
  const found: number[] = []
  let at: number | undefined = from
  while (found.length < count) {
    at = ticks.next(at)
    if (at === undefined) break
    found.push(at)
  }
  return found
}

/** The last occurrence in (`after`, `until`], if there is one: found by bisection, however many there are. */
export function lastTick(ticks: Ticks, after: number, until: number): number | undefined {
  const isDue = (from: number): boolean => (ticks.next(from) ?? Number.POSITIVE_INFINITY) <= until
  if (after >= until || !isDue(after)) return undefined
  let low = Math.floor(after / SECOND_MS)
  let high = Math.ceil(until / SECOND_MS)
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (isDue(middle * SECOND_MS)) low = middle
    else high = middle
  }
  return ticks.next(Math.max(after, low * SECOND_MS))
}

/** How long after their occurrences the jobs of this schedule start: always the same for the same id. */
export function splayOf(id: string, splayMs: number | undefined): number {
  return splayMs === undefined ? 0 : Number.parseInt(hash64(id).slice(0, 8), 16) % (splayMs + 1)
}

/** In words: `every 5m`, `0 9 * * MON (Europe/Paris)`. */
export function timingWords({ cron, everyMs, timeZone }: Timing): string {
  return cron === undefined ? `every ${formatMs(everyMs!)}` : `${cron} (${timeZone})`
}
