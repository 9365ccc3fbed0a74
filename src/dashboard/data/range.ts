import { computed } from '@preact/signals'
import { parseDuration } from '../../core/values/duration.js'
import { ROUTES } from '../routes.js'
import { match, path, type Query, type QueryChange, query, setQuery } from '../shell/router.js'
import { now } from './clock.js'
import { clockText, timeMode } from './format.js'

/** A time range: of the last hour, say, or between two times. */
export interface Range {
  /** Epoch milliseconds. */
  readonly from: number
  /** Exclusive; absent if the range ends now. */
  readonly to?: number
  /** In the URL: `1h`; absent for two times. */
  readonly last?: string
}

export const ALL_TIME = 'all'

/** The ranges that end now, as they are in the URL. */
export const LAST = ['15m', '1h', '6h', '24h', '2d', '7d', '30d'] as const

const MINUTE_MS = 60_000

/** Relative ranges move on once a minute, so that lists and charts are not loaded every second. */
const minute = computed(() => Math.floor(now.value / MINUTE_MS) * MINUTE_MS)

const timeIn = (text: string | undefined): number => (text === undefined ? Number.NaN : Date.parse(text))

/** The range of a URL. `otherwise` is the range of the screen without one; undefined stands for all time. */
export function rangeIn(given: Query, otherwise: string, at: number): Range | undefined {
  const [from, to] = [timeIn(given['from']), timeIn(given['to'])]
  if (from < to) return { from, to }
  const asked = given['range'] ?? otherwise
  if (asked === ALL_TIME) return undefined
  const ms = parseDuration(asked) ?? parseDuration(otherwise)
  if (ms === undefined) return undefined
  return { from: at - ms, last: parseDuration(asked) === undefined ? otherwise : asked }
}

/** The default range of the open screen; undefined if it has none. */
export const rangeDefault = computed(() => ROUTES.find(route => match(route.path, path.value))?.range)

/** The range of the open screen; undefined for all time. */
export const range = computed(() =>
  rangeDefault.value === undefined ? undefined : rangeIn(query.value, rangeDefault.value, minute.value),
)

/** The parameters of the URL that hold the range, to take it along to another screen. */
export function rangeParameters(): QueryChange {
  const { range: last, from, to } = query.value
  return { range: last, from, to }
}

const iso = (at: number): string => new Date(at).toISOString()

/** The parameters of a range between two times. */
export const between = (from: number, to: number): QueryChange => ({ from: iso(from), to: iso(to) })

export function setRange(from: number, to: number): void {
  setQuery({ ...between(from, to), range: undefined, cursor: undefined })
}

export function setLast(last: string | undefined): void {
  setQuery({ range: last, from: undefined, to: undefined, cursor: undefined })
}

/** The range as parameters of the API: `from` and `to`, or those of a filter. */
export function apiRange(given: Range | undefined, by?: string): Readonly<Record<string, string>> {
  if (!given) return {}
  const [first, last] = by === undefined ? ['from', 'to'] : [`${by}After`, `${by}Before`]
  return { [first]: iso(given.from), ...(given.to !== undefined && { [last]: iso(given.to) }) }
}

/** For sentences: `in the last 1 h`, `2026-11-18 02:00 – 03:00`. */
export function rangeWords(given: Range | undefined): string {
  return given?.last === undefined ? rangeText(given) : `in the last ${rangeText(given)}`
}

/** `1 h`, `All time`, `2026-11-18 02:00 – 03:00`. */
export function rangeText(given: Range | undefined): string {
  if (!given) return 'All time'
  if (given.last !== undefined || given.to === undefined) return (given.last ?? '').replace(/(\d+)/, '$1 ')
  const mode = timeMode.value === 'utc' ? 'utc' : 'local'
  const [from, to] = [given.from, given.to].map(at => clockText(at, mode).slice(0, 16)) as [string, string]
  const zone = mode === 'utc' ? ' UTC' : ''
  return from.slice(0, 10) === to.slice(0, 10) ? `${from} – ${to.slice(11)}${zone}` : `${from} – ${to}${zone}`
}
