/**
 * Splits a batch so that within a part no two items share a key, and what comes later stays later. A statement over
 * a whole part then does what one after the other would have done.
 */
export function rounds<T>(items: readonly T[], keysOf: (item: T) => readonly string[]): T[][] {
  const parts: T[][] = []
  const partOf = new Map<string, number>()
  for (const item of items) {
    const keys = keysOf(item)
    let part = 0
    for (const key of keys) part = Math.max(part, (partOf.get(key) ?? -1) + 1)
    for (const key of keys) partOf.set(key, part)
    const own = parts[part] ?? []
    own.push(item)
    parts[part] = own
  }
  return parts
}
