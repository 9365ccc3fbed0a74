/** A bar of a small histogram, in pixels. */
export interface Bar {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Bars relative to the highest one. A value above zero is always visible. */
export function barsOf(
  values: readonly number[],
  width: number,
  height: number,
  top = Math.max(1, ...values),
): readonly Bar[] {
  const step = width / Math.max(1, values.length)
  const gap = step > 5 ? 1.5 : step > 3 ? 1 : 0
  return values.map((value, i) => {
    const high = value === 0 ? 0 : Math.max(1.5, (Math.min(value, top) / top) * height)
    return { x: round(i * step), y: round(height - high), width: round(Math.max(1, step - gap)), height: round(high) }
  })
}

const round = (value: number): number => Math.round(value * 10) / 10

const HOUR_MS = 3_600_000

/** Every hour up to now, including empty ones. */
export function hoursOf(
  trend: readonly { readonly at: string; readonly failures: number }[],
  now: number,
  hours: number,
): readonly { readonly at: number; readonly count: number }[] {
  const byHour = new Map(trend.map(({ at, failures }) => [Math.floor(Date.parse(at) / HOUR_MS), failures]))
  const last = Math.floor(now / HOUR_MS)
  return Array.from({ length: hours }, (_, i) => {
    const hour = last - hours + 1 + i
    return { at: hour * HOUR_MS, count: byHour.get(hour) ?? 0 }
  })
}
