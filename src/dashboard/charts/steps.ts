import { parseDuration } from '../../core/values/duration.js'

/** Round values for a slider. */
export const DELAY_STEPS = '100ms 200ms 500ms 1s 2s 5s 10s 15s 30s 1m 2m 5m 10m 15m 30m 1h 2h 6h 12h 1d'.split(' ')
export const OUTAGE_STEPS =
  '0s 5s 10s 20s 30s 45s 1m 90s 2m 3m 5m 10m 15m 20m 30m 45m 1h 90m 2h 3h 4h 6h 8h 12h 16h 1d 2d 3d'.split(' ')
export const WITHIN_STEPS = '0s 1s 2s 5s 10s 20s 30s 1m 2m 5m 10m 20m 30m 1h'.split(' ')
export const COUNT_STEPS =
  '10 20 50 100 200 300 500 750 1000 1500 2000 3000 5000 7500 10000 15000 20000 30000 50000 75000 100000'.split(' ')
export const CAPACITY_STEPS = '1 2 5 10 20 30 50 75 100 150 200 300 500 750 1000 2000 5000 10000'.split(' ')
export const RATE_STEPS = CAPACITY_STEPS.map(step => `${step}/s`)
export const FACTOR_STEPS = '1 1.2 1.5 1.75 2 2.5 3 4 5 10'.split(' ')
export const RETRY_STEPS = Array.from({ length: 31 }, (_, i) => String(i))

/** The step nearest to a value on a logarithmic scale. */
export function nearestStep(steps: readonly string[], written: string): number {
  const value = amountOf(written)
  if (value === undefined) return 0
  const distances = steps.map(step => Math.abs(Math.log1p(amountOf(step) ?? 0) - Math.log1p(value)))
  return distances.indexOf(Math.min(...distances))
}

function amountOf(written: string): number | undefined {
  const text = written.trim()
  if (text === '') return undefined
  const value = parseDuration(text) ?? Number(text.replace(/\/s$/, ''))
  return Number.isNaN(value) ? undefined : value
}
