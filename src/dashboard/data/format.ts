import { shownUrl } from '../../core/http/shown-url.js'
import { formatMs } from '../../core/values/duration.js'
import { countText as count } from '../../core/values/number.js'
import { stored } from './stored.js'

export {
  countText as count,
  many as plural,
  percentText as percent,
  rateText as rate,
  ratioText as ratio,
} from '../../core/values/number.js'

export const TIME_MODES = ['relative', 'local', 'utc'] as const

/** The format of all times. */
export const timeMode = stored('time', TIME_MODES, 'relative')

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

/** A short form for axes and narrow places: `12.3K`. */
export const short = (value: number): string => (Math.abs(value) < 10_000 ? count(value) : compact.format(value))

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

export function bytes(value: number): string {
  let [rest, unit] = [value, 0]
  while (rest >= 1_000 && unit < UNITS.length - 1) {
    rest /= 1_000
    unit++
  }
  return `${rest < 10 && unit > 0 ? rest.toFixed(1) : Math.round(rest)} ${UNITS[unit]}`
}

/** `250ms`, `1.5s`, `4m 10s`: the format of core, also in sentences. */
export function duration(ms: number | undefined): string {
  return ms === undefined ? '–' : formatMs(ms)
}

/** A duration in whole seconds, for running counters: `28s`. */
export function age(ms: number): string {
  return ms < 1_000 ? 'under 1s' : formatMs(Math.floor(ms / 1_000) * 1_000)
}

/** `now`, `12s ago`, `in 4m`: one unit only, so that it changes rarely. */
export function relative(at: number, now: number): string {
  const distance = at - now
  const words = oneUnit(Math.abs(distance))
  if (words === undefined) return 'now'
  return distance > 0 ? `in ${words}` : `${words} ago`
}

function oneUnit(ms: number): string | undefined {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 1) return undefined
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

const two = (value: number): string => String(value).padStart(2, '0')

/** `2026-11-16 08:41:07`, in local time or UTC. */
export function clockText(at: number, mode: 'local' | 'utc', millis = false): string {
  const iso = mode === 'utc' ? new Date(at).toISOString() : localIso(new Date(at))
  return `${iso.slice(0, 10)} ${iso.slice(11, millis ? 23 : 19)}${mode === 'utc' ? ' UTC' : ''}`
}

/** A time as an input for local times shows it: `2026-11-16T08:41:07`. */
export const localText = (at: number): string => clockText(at, 'local').replace(' ', 'T')

/** The time of such an input; undefined if it is incomplete. */
export function isoOf(local: string): string | undefined {
  const ms = Date.parse(local)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}

function localIso(date: Date): string {
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return `${day}T${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** A time in every format, for tooltips. */
export function exactTimes(at: number, now: number): string {
  return `${relative(at, now)}\n${clockText(at, 'local', true)}  local\n${clockText(at, 'utc', true)}`
}

/** The end of a UUIDv7 is unique; its beginning is the time. */
export const shortId = (id: string): string => (id.length > 16 ? `…${id.slice(-8)}` : id)

/** A job in words: its name, or the method and URL of a call. */
export function jobTitle(name: string, payload: unknown): string {
  const { method, url, body } = (payload ?? {}) as Readonly<Record<string, unknown>>
  if (name !== 'http' || typeof url !== 'string') return name
  return `${typeof method === 'string' ? method.toUpperCase() : body === undefined ? 'GET' : 'POST'} ${shownUrl(url)}`
}
