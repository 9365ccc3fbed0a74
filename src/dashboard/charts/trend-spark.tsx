import { now } from '../data/clock.js'
import { plural } from '../data/format.js'
import { Sparkline } from '../parts/sparkline.js'
import { hoursOf } from './hours.js'

interface TrendSparkProps {
  /** The `trend` of an error group. */
  readonly trend: readonly { readonly at: string; readonly failures: number }[]
  /** Default 24; groups keep 48. */
  readonly hours?: number
  readonly width?: number
  readonly height?: number
}

const HOUR_MS = 3_600_000

/** Failures by hour, up to now. */
export function TrendSpark({ trend, hours = 24, width = 96, height = 22 }: TrendSparkProps) {
  // Recomputed once an hour, not every second.
  const counts = hoursOf(trend, Math.floor(now.value / HOUR_MS) * HOUR_MS, hours).map(({ count }) => count)
  const sum = counts.reduce((total, count) => total + count, 0)
  const lately = counts.slice(-3).reduce((total, count) => total + count, 0)
  const words = `${plural(sum, 'failure')} in ${hours}h, ${lately === 0 ? 'none' : lately} of them in the last 3h`
  return <Sparkline values={counts} hue="dead" width={width} height={height} label={words} />
}
