/** Characters per statement: far below the limit of the database, and large enough to be efficient. */
const CHUNK_MAX = 8_000_000

/** Splits a batch whose texts would make one statement too long. */
export function chunks<T>(items: readonly T[], sizeOf: (item: T) => number): readonly (readonly T[])[] {
  const all: T[][] = []
  let room = 0
  for (const item of items) {
    const size = sizeOf(item)
    if (all.length === 0 || size > room) {
      all.push([])
      room = CHUNK_MAX
    }
    all.at(-1)!.push(item)
    room -= size
  }
  return all
}
