import { formatMs } from '../../core/values/duration.js'

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const

/** One unit, rounded down, for tables: `45s`, `4m`, `12d`. */
export function brief(ms: number): string {
  const unit = UNITS.find(([size]) => ms >= size)
  return unit ? `${Math.floor(ms / unit[0])}${unit[1]}` : '0s'
}

/** `in 4m 10s`, `4m 10s ago`, `just now`. */
export function relative(at: string | number, now: number): string {
  const ms = timeOf(at) - now
  if (Math.abs(ms) < 1_000) return 'just now'
  return ms > 0 ? `in ${formatMs(ms)}` : `${formatMs(-ms)} ago`
}

export function timeOf(at: string | number): number {
  return typeof at === 'number' ? at : Date.parse(at)
}

/** `2026-11-16 09:03:20.120 UTC`. */
export function absolute(at: string | number): string {
  return new Date(timeOf(at)).toISOString().replace('T', ' ').replace('Z', ' UTC')
}
