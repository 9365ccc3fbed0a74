import { type Command, InvalidArgumentError } from 'commander'
import { DAY_MS, parseDuration } from '../core/values/duration.js'
import { shown } from '../core/values/error.js'
import { isPlainObject } from '../core/values/json.js'
import type { Rate } from '../core/values/rate.js'
import { systemClock } from '../engine/time/system.js'
import { usage } from './exit.js'

export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number.')
}

/** Collects the values of a repeatable option. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

const TIME = /^(\d{4}-\d\d-\d\d)(?:(T\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/i

/** A time, also as a date in UTC or without seconds. Other text is left for the library to reject. */
export function time(text: string): Date | string {
  const [, date, clock = 'T00:00', seconds = ':00', zone = 'Z'] = TIME.exec(text) ?? []
  const at = date === undefined ? Number.NaN : Date.parse(`${date}${clock}${seconds}${zone}`.toUpperCase())
  return Number.isNaN(at) ? text : new Date(at)
}

const CLOCK = /^([01]\d|2[0-3]):([0-5]\d)$/

/** A time in the past: a time, an age such as `2h`, or the latest 02:00 in UTC. */
export function pastTime(flag: string): (text: string) => Date {
  return text => {
    const now = systemClock.now()
    const [, hours, minutes] = CLOCK.exec(text) ?? []
    if (hours !== undefined) {
      const today = Math.floor(now / DAY_MS) * DAY_MS + Number(hours) * 3_600_000 + Number(minutes) * 60_000
      return new Date(today > now ? today - DAY_MS : today)
    }
    const agoMs = parseDuration(text)
    const at = agoMs === undefined ? time(text) : new Date(Math.round(now - agoMs))
    if (at instanceof Date) return at
    throw usage(`${flag}: expected a time such as 2026-12-24T18:00Z or an age such as 2h, got ${shown(text)}`)
  }
}

/** `20/s`, `600/m`, or a number per second. The engine checks the value. */
export function rate(text: string): Rate {
  return /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : (text as Rate)
}

/** `0.2`, or `20%`. */
export function share(text: string): number {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(text)
  if (match) return match[2] === '%' ? Number(match[1]) / 100 : Number(match[1])
  throw new InvalidArgumentError('Expected a share from 0 to 1, such as 0.2 or 20%.')
}

export function addPageOptions(command: Command): Command {
  return command
    .option('--limit <number>', 'number of items, up to 200 (default: 50)', wholeNumber)
    .option('--cursor <text>', 'continue after the previous page')
}

/** `concurrency=40,rate=500/m`, or JSON. What the fields may be is checked elsewhere. */
export function settingsIn(text: string | undefined, flag: string, expected: string): object | undefined {
  if (text === undefined) return undefined
  const given = text.startsWith('{') ? jsonIn(text) : Object.fromEntries(text.split(',').map(pairIn))
  if (isPlainObject(given)) return given
  throw usage(`${flag}: expected settings such as ${expected}, got ${JSON.stringify(text)}`)
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function pairIn(pair: string): readonly [string, unknown] {
  const at = pair.indexOf('=')
  const [key, value] = at < 0 ? [pair, 'true'] : [pair.slice(0, at), pair.slice(at + 1)]
  const words: Readonly<Record<string, unknown>> = { true: true, false: false }
  return [key.trim(), words[value] ?? (/^\d+$/.test(value) ? Number(value) : value)]
}
