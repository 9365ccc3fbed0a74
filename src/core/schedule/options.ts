import { httpRequest } from '../http/request.js'
import { ownSettings, twoPolicies } from '../job/options.js'
import { jobName } from '../values/limits.js'
import { about, anything, boolean, type Infer, inCode, integer, named, oneOf, refined } from '../values/schema.js'
import { object, union } from '../values/shape.js'
import { timingFields } from './timing.js'

export const CATCH_UP_MAX = 100

export const overlap = about(
  oneOf(['skip', 'queue', 'allow']),
  'What happens to an occurrence while an earlier one has not ended. Default `skip`.',
)
export const missed = about(
  union(oneOf(['run-once', 'skip']), { ...object({ all: integer(1, CATCH_UP_MAX) }), expects: '{ all: 5 }' }),
  'What happens to occurrences that were missed because no scheduler was running. Default `run-once`.',
)

export type Overlap = Infer<typeof overlap>
export type Missed = Infer<typeof missed>

const definition = inCode<object>('a job definition', given => typeof given === 'object' && given !== null)

/** A schedule as users write it: `cron` or `every`, and `job` or `http`. */
export const scheduleOptions = named(
  'ScheduleInput',
  refined(
    object(
      {},
      {
        ...timingFields,
        job: about({ ...union(jobName, definition), json: jobName.json! }, 'The name of its jobs.'),
        payload: anything,
        http: about(httpRequest, 'Instead of `job`: a call to a URL.'),
        ...ownSettings,
        webhook: about(ownSettings.webhook, 'The URL that receives the outcome of each job.'),
        overlap,
        missed,
        recurring: about(boolean, 'false: the schedule ends after one occurrence. Default true.'),
      },
    ),
    twoPolicies,
  ),
  { example: { cron: '0 9 * * MON', timeZone: 'Europe/Paris', job: 'weekly-digest', payload: { list: 'all' } } },
)
