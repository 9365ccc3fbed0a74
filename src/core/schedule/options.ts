import { httpRequest } from '../http/request.js'
import { ownSettings, twoPolicies } from '../job/options.js'
import { shown } from '../values/error.js'
import { jobName } from '../values/limits.js'
import {
  about,
  anything,
  boolean,
  duration,
  flaw,
  type Infer,
  inCode,
  integer,
  named,
  oneOf,
  refined,
  schema,
} from '../values/schema.js'
import { object, union } from '../values/shape.js'
import { time } from '../values/time.js'
import { timeZone as zone } from './time-zone.js'

export const CATCH_UP_MAX = 100
const CRON_MAX = 256
const EVERY_MIN_MS = 1_000
const SPLAY_MAX_MS = 3_600_000

/** Text that `parseCron` reads when the time zone is known. */
export const cronText = schema<string>({
  kinds: ['string'],
  expects: 'a cron expression such as "0 9 * * MON"',
  check(given) {
    if (typeof given === 'string') return given
    throw flaw(`expected ${cronText.expects}, got ${shown(given)}`)
  },
  json: () => ({ type: 'string', minLength: 1, maxLength: CRON_MAX }),
})

export const timingFields = {
  cron: about(cronText, 'Five fields, or six with seconds first.', {
    example: '0 9 * * MON',
    flag: '--cron <expression>',
    label: 'Cron',
    placeholder: '0 9 * * MON',
  }),
  every: about(
    duration({ min: EVERY_MIN_MS }),
    'Instead of `cron`: the interval from the creation of the schedule (or `startAt`), at least 1s.',
    {
      flag: '--every <duration>',
      label: 'Every',
      hint: 'Counted from its creation or start; at least 1s',
      placeholder: '15m',
    },
  ),
  timeZone: about(zone, 'The time zone of `cron`. Default UTC.', {
    example: 'Europe/Paris',
    flag: '--tz <zone>',
    label: 'Time zone',
    placeholder: 'UTC',
  }),
  startAt: about(time, 'No occurrence is before this time.', {
    flag: '--start-at <time>',
    label: 'Start',
    hint: 'Local time; empty: immediately',
  }),
  endAt: about(time, 'No occurrence is after this time.', {
    flag: '--end-at <time>',
    label: 'End',
    hint: 'Local time; empty: never',
  }),
  splay: about(
    duration({ max: SPLAY_MAX_MS }),
    'The maximum delay of a job after its occurrence, constant per schedule. Default: no delay.',
    { flag: '--splay <duration>', label: 'Splay', hint: 'Delays each job by up to this time', placeholder: 'none' },
  ),
}

/** When a schedule's jobs are due, as users write it: either `cron` or `every`. */
export const timingOptions = object({}, timingFields)
export type TimingOptions = Infer<typeof timingOptions>

export const overlap = about(
  oneOf(['skip', 'queue', 'allow']),
  'What happens to an occurrence while an earlier one has not ended. Default `skip`.',
  { flag: '--overlap <rule>', label: 'Overlap' },
)
export const missed = about(
  union(oneOf(['run-once', 'skip']), { ...object({ all: integer(1, CATCH_UP_MAX) }), expects: '{ all: 5 }' }),
  'What happens to occurrences that were missed because no scheduler was running. Default `run-once`.',
  { label: 'Missed runs' },
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
        job: about({ ...union(jobName, definition), json: jobName.json! }, 'The name of its jobs.', {
          flag: '--job <name>',
          label: 'Name',
          hint: 'A job that a worker handles',
          placeholder: 'charge-card',
        }),
        payload: about(anything, { label: 'Payload', hint: 'JSON' }),
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
