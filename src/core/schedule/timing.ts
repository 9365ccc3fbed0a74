import { formatMs, toMs } from '../values/duration.js'
import { ChronosError } from '../values/error.js'
import { hash64 } from '../values/hash.js'
import { present } from '../values/present.js'
import { read, refuse } from '../values/schema.js'
import { timeOf } from '../values/time.js'
import { parseCron, type Ticks } from './cron.js'
import { type TimingOptions, timingOptions } from './options.js'

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

export const TIME_ZONE_DEFAULT = 'UTC'
const SECOND_MS = 1_000

export function parseTiming(input: TimingOptions, now: number, where: string): Timing {
  const given = read(timingOptions, input, `${where}:`)
  const { cron, every, timeZone = TIME_ZONE_DEFAULT, splay } = given
  if ((cron === undefined) === (every === undefined)) {
    throw refuse([], `give cron or every, ${cron === undefined ? 'one' : 'not both'}`, where, 'INVALID_OPTION')
  }
  const startAt = given.startAt === undefined ? undefined : timeOf(given.startAt, 'startAt')
  const endAt = given.endAt === undefined ? undefined : timeOf(given.endAt, 'endAt')
  if (startAt !== undefined && endAt !== undefined && endAt < startAt) {
    throw fieldError('endAt', where, 'endAt is before startAt', 'is before startAt')
  }
  return present({
    cron: cron === undefined ? undefined : checkedCron(cron, timeZone, where),
    everyMs: every === undefined ? undefined : toMs(every, 'every'),
    anchor: every === undefined ? undefined : (startAt ?? now),
    timeZone,
    startAt,
    endAt,
    splayMs: splay === undefined ? undefined : toMs(splay, 'splay'),
  })
}

/** Adds the path of the field to an error, so that a form can show the error beside the field. */
function checkedCron(cron: string, timeZone: string, where: string): string {
  const what = `${where}: cron`
  try {
    parseCron(cron, timeZone, what)
    return cron.trim()
  } catch (error) {
    if (!(error instanceof ChronosError)) throw error
    const detail = error.message.slice(what.length).replace(/^:? /, '')
    throw new ChronosError(error.code, error.message, { cause: error.cause, details: detailsOf('cron', detail) })
  }
}

const fieldError = (field: keyof TimingOptions, where: string, message: string, detail = message): ChronosError =>
  new ChronosError('INVALID_OPTION', `${where}: ${message}`, { details: detailsOf(field, detail) })

const detailsOf = (field: string, detail: string): Readonly<Record<string, unknown>> => ({
  path: [field],
  errors: [{ path: [field], detail }],
})

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
