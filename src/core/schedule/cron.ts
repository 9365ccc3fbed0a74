import { Cron } from 'croner'
import { ChronosError, shown } from '../values/error.js'
import { nextChange, offsetMs } from './time-zone.js'

/** Times in order: returns the first one after a time, or undefined if there is none. */
export interface Ticks {
  next(after: number): number | undefined
}

const LENGTH_MAX = 256
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** Longer than clocks are ever set back by. */
const PUT_BACK_MAX_MS = 3 * 3_600_000
/** The number of clock changes and repeated hours that one search may meet. */
const HOPS_MAX = 1_000
const KNOWN_MAX = 5_000
const REMEMBERED_MAX = 500

const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

const FIELDS = [
  { name: 'second', min: 0, max: 59 },
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12 },
  { name: 'weekday', min: 0, max: 7 },
] as const

const MONTHS = 'January February March April May June July August September October November December'.split(' ')

const known = new Map<string, CronTicks>()

/**
 * Five fields (minute hour day month weekday) or six (seconds first), read in a time zone. If both day and weekday are
 * restricted, either may match. Refuses expressions that never match.
 */
export function parseCron(expression: unknown, timeZone: string, where: string): Ticks {
  const name = `${timeZone} ${String(expression)}`
  const same = typeof expression === 'string' ? known.get(name) : undefined
  if (same) return same
  const ticks = new CronTicks(fieldsOf(expression, where), timeZone, `${where} ${shown(expression)}`)
  if (known.size >= KNOWN_MAX) known.delete(known.keys().next().value!)
  known.set(name, ticks)
  return ticks
}

class CronTicks implements Ticks {
  readonly #wall: Cron
  readonly #timeZone: string
  /**
   * Whether it names times of day and not only a frequency: such a time comes once a day, even if the clocks change.
   */
  readonly #isFixed: boolean
  /** The matching seconds of a minute. */
  readonly #seconds: readonly number[]
  readonly #remembered = new Map<number, number | undefined>()

  constructor(fields: readonly string[], timeZone: string, what: string) {
    this.#timeZone = timeZone
    this.#isFixed = !fields.slice(0, 3).some(field => /[*?]/.test(field))
    this.#wall = wallClock(fields, what)
    const first = this.#wall.nextRun(new Date(0))
    if (first === null) throw new ChronosError('INVALID_OPTION', `${what}: ${neverWords(fields)}`)
    this.#seconds = /^\d+$/.test(fields[0]!) ? [Number(fields[0])] : secondsOf(this.#wall, first.getTime())
  }

  next(after: number): number | undefined {
    // Occurrences fall on whole seconds, so all times within one second have the same next occurrence.
    const from = Math.floor(after / SECOND_MS) * SECOND_MS
    if (this.#remembered.has(from)) return this.#remembered.get(from)
    const found = this.#search(from)
    if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear()
    this.#remembered.set(from, found)
    // Clocks change on whole minutes, so the other matching seconds of an occurrence's minute are occurrences too.
    if (found !== undefined) this.#rememberMinute(found)
    return found
  }

  #rememberMinute(tick: number): void {
    const minute = Math.floor(tick / MINUTE_MS) * MINUTE_MS
    let last = tick
    for (const second of this.#seconds) {
      const at = minute + second * SECOND_MS
      if (at <= tick) continue
      for (let from = last; from < at; from += SECOND_MS) this.#remembered.set(from, at)
      last = at
    }
  }

  /** The interval between two clock changes, within which local time and real time advance together. */
  #search(from: number): number | undefined {
    let at = from
    let offset = offsetMs(this.#timeZone, at)
    let wall = at + offset
    for (let hops = 0; hops < HOPS_MAX; hops++) {
      const tick = this.#wall.nextRun(new Date(wall))?.getTime()
      if (tick === undefined) return undefined
      const change = nextChange(this.#timeZone, at, tick - offset)
      if (change === undefined) {
        if (!this.#isFixed || !this.#isRepeated(tick, offset)) return tick - offset
        wall = tick
        continue
      }
      const after = offsetMs(this.#timeZone, change)
      const isSkipped = after > offset && tick < change + after
      if (isSkipped && this.#isFixed) return change
      const isPutBack = after < offset
      wall = change + (isPutBack && this.#isFixed ? offset : after) - SECOND_MS
      at = change
      offset = after
    }
    return undefined
  }

  /** Whether local clocks have shown this time before they were set back. */
  #isRepeated(tick: number, offset: number): boolean {
    const before = offsetMs(this.#timeZone, tick - offset - PUT_BACK_MAX_MS)
    return before > offset && offsetMs(this.#timeZone, tick - before) === before
  }
}

function fieldsOf(expression: unknown, where: string): readonly string[] {
  const what = `${where} ${shown(expression)}`
  if (typeof expression !== 'string' || expression.length > LENGTH_MAX) {
    throw new ChronosError('INVALID_OPTION', `${what}: expected a cron expression of at most ${LENGTH_MAX} characters`)
  }
  const text = expression.trim()
  const parts = (NICKNAMES[text.toLowerCase()] ?? text).split(/\s+/)
  if (text.startsWith('@') && !(text.toLowerCase() in NICKNAMES)) {
    throw new ChronosError('INVALID_OPTION', `${what}: known nicknames are ${Object.keys(NICKNAMES).join(', ')}`)
  }
  if (parts.length !== 5 && parts.length !== 6) {
    const count = text === '' ? 0 : parts.length
    throw new ChronosError(
      'INVALID_OPTION',
      `${what}: expected 5 fields (minute hour day month weekday) or 6 (second first), got ${count}`,
    )
  }
  const fields = parts.length === 5 ? ['0', ...parts] : parts
  for (const [index, field] of fields.entries()) checkField(field, FIELDS[index]!, what)
  return fields
}

function checkField(field: string, { name, min, max }: (typeof FIELDS)[number], what: string): void {
  if (!/^[0-9A-Za-z*?,/#-]+$/.test(field)) {
    throw new ChronosError('INVALID_OPTION', `${what}: the ${name} field ${shown(field)} contains invalid characters`)
  }
  for (const part of field.split(',')) {
    for (const number of part.replace(/[/#].*/, '').split('-')) {
      const value = Number(number.replace(/W$/i, ''))
      if (number === '' || Number.isNaN(value) || (value >= min && value <= max)) continue
      throw new ChronosError(
        'INVALID_OPTION',
        `${what}: ${name} ${value} does not exist; it goes from ${min} to ${max}`,
      )
    }
  }
}

/** The expression on a clock that never changes. */
function wallClock(fields: readonly string[], what: string): Cron {
  try {
    return new Cron(fields.join(' '), { mode: '6-part', utcOffset: 0 })
  } catch (error) {
    throw new ChronosError('INVALID_OPTION', `${what}: ${problemOf(error, fields)}`, { cause: error })
  }
}

/** The parser's message, with the field's name instead of its number. */
function problemOf(error: unknown, fields: readonly string[]): string {
  const message = error instanceof Error ? error.message : String(error)
  const index = /^CronPattern: configuration entry (\d) .* illegal characters/.exec(message)?.[1]
  if (index === undefined) return message.replace(/^CronPattern: (Syntax error, )?/, '').replace(/\.$/, '')
  return `the ${FIELDS[Number(index)]?.name} field ${shown(fields[Number(index)])} is not understood`
}

/** The matching seconds within the minute of an occurrence. */
function secondsOf(wall: Cron, tick: number): readonly number[] {
  const minute = Math.floor(tick / MINUTE_MS) * MINUTE_MS
  const seconds: number[] = []
  let at = wall.nextRun(new Date(minute - SECOND_MS))?.getTime()
  while (at !== undefined && at < minute + MINUTE_MS) {
    seconds.push((at - minute) / SECOND_MS)
    at = wall.nextRun(new Date(at))?.getTime()
  }
  return seconds
}

function neverWords(fields: readonly string[]): string {
  const [, , , day, month] = fields as [string, string, string, string, string]
  const months = month.split(',').map(one => MONTHS[Number(one) - 1] ?? one)
  return `it never happens: there is no ${day} ${months.join(' or ')}`
}
