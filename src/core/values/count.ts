import { type Infer, integer, named, oneOf } from './schema.js'
import { view } from './shape.js'

/** A number that may be too large to count to the end. */
export const count = named('Count', view({ value: integer(), relation: oneOf(['exact', 'at-least']) }), {
  description: 'An exact count, or "at least" if counting further would take too long.',
})
export type Count = Infer<typeof count>

/** The sum, which is exact if every count is. */
export function sumOfCounts(counts: readonly Count[]): Count {
  const value = counts.reduce((sum, count) => sum + count.value, 0)
  return { value, relation: counts.every(({ relation }) => relation === 'exact') ? 'exact' : 'at-least' }
}

/** A counter for each key, at 0. */
export function zeros<const Key extends string>(keys: readonly Key[]): Record<Key, number> {
  return Object.fromEntries(keys.map(key => [key, 0])) as Record<Key, number>
}
