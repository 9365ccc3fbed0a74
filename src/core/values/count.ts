import { type Infer, integer, named, oneOf } from './schema.js'
import { view } from './shape.js'

/** A number that may be too large to count to the end. */
export const count = named('Count', view({ value: integer(), relation: oneOf(['exact', 'at-least']) }), {
  description: 'An exact count, or "at least" if counting further would take too long.',
})
export type Count = Infer<typeof count>
