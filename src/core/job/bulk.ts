import { ChronosError } from '../values/error.js'
import { about, boolean, type Infer, integer } from '../values/schema.js'
import { object, omit, view } from '../values/shape.js'

const dryRun = about(boolean, 'Change nothing, and return the number of matching jobs.')
const atMost = about(
  integer(),
  'Refuse with 409 if more jobs than this would be changed: the number that a dry run returned.',
)

/** The options of every action on the jobs that a filter selects. */
export const bulkOptions = object(
  {},
  { dryRun, all: about(boolean, 'Required for an empty filter, because that matches all jobs.'), atMost },
)
export type BulkOptions = Infer<typeof bulkOptions>

/** Dead letters may be selected without a condition. */
export const deadBulkOptions = omit(bulkOptions, 'all')
export type DeadBulkOptions = Infer<typeof deadBulkOptions>

/** What was counted, and what was allowed, when an action was refused. */
export const excess = view({
  matched: about(integer(), 'The number of jobs that match now.'),
  atMost: about(integer(), 'The number in the request.'),
  changed: about(integer(), 'The number of jobs that were changed before more matched.'),
})

/** More jobs than the caller has confirmed must not be changed. */
export function checkAtMost(action: string, matched: number, limit: number | undefined, changed = 0): void {
  if (limit === undefined || matched <= limit) return
  const state = changed === 0 ? 'nothing was changed' : `stopped after ${changed} were changed`
  const words = `${action}: ${matched} jobs match, and atMost is ${limit}; ${state}. Count again with a dry run`
  throw new ChronosError('TOO_MANY_MATCHES', words, { details: { matched, atMost: limit, changed } })
}
