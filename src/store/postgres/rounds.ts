/**
 * Splits a batch so that within a part no two items share a key, and what comes later stays later. A statement over
 * a whole part then does what one after the other would have done.
 */
export function rounds<T>(items: readonly T[], keysOf: (item: T) => readonly string[]): T[][] {
  const parts: T[][] = []
  const partOf = new Map<string, number>()
  for (const item of items) {
    const keys = keysOf(item)
    const part = Math.max(0, ...keys.map(key => (partOf.get(key) ?? -1) + 1))
    for (const key of keys) partOf.set(key, part)
    parts[part] ??= []
    parts[part].push(item)
  }
  return parts
}
