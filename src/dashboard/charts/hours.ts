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
