const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** `512 bytes`, `4.1 kB`, `36 MB`: at most three digits that matter. */
export function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000
    unit++
  }
  return `${value < 9.95 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}
