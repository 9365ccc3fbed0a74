/**
 * Splits a batch into rounds, so that no two items of a round share a key, and items with the same key keep their
 * order. One statement per round then has the same effect as one statement per item.
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
