import { JOB_STATES } from '../../core/job/job.js'
import { freeText } from '../../core/values/limits.js'
import {
  about,
  anyText,
  boolean,
  duration,
  type Infer,
  integer,
  named,
  number,
  oneOf,
} from '../../core/values/schema.js'
import { listOf, object, view } from '../../core/values/shape.js'
import { time, timestamp } from '../../core/values/time.js'
import { seriesPoint } from '../figures/series.js'
import { activity } from '../figures/statistics.js'
import { timingFields } from '../figures/timings.js'
import { workerView } from '../worker/fleet.js'

const range = {
  from: about(time, 'Default: an hour before `to`.'),
  to: about(time, 'Exclusive. Default: now. The range is widened to whole minutes or hours.'),
}

export const nameListQuery = object(
  {},
  {
    ...range,
    q: about(freeText, 'Only job names with this text.'),
    queue: about(freeText, 'Only what happened in this queue.'),
  },
)
export type NameListQuery = Infer<typeof nameListQuery>

export const nameQuery = object({}, range)
export type NameQuery = Infer<typeof nameQuery>

const figures = {
  ...activity.required,
  perMinute: about(number(), 'Runs per minute of the range, up to now.'),
}
const ratios = {
  failureShare: about(number(), 'Failed runs ÷ runs, from 0 to 1; absent without runs.'),
  ...timingFields,
}

/** A job name in a list. */
export const nameSummary = named(
  'JobName',
  view({ name: anyText, queues: about(listOf(anyText), 'The queues in which it was active.'), ...figures }, ratios),
)
export type NameSummary = Infer<typeof nameSummary>

export const nameList = named(
  'JobNameList',
  view({
    from: timestamp,
    to: timestamp,
    data: about(listOf(nameSummary), 'Up to 1,000 job names that were active in the range, most runs first.'),
    total: about(integer(), 'The number of job names, also beyond the first 1,000.'),
    complete: about(boolean, 'false: there are too many records, and the oldest are not counted.'),
  }),
)
export type NameList = Infer<typeof nameList>

const jobFacts = {
  queue: anyText,
  state: about(oneOf(JOB_STATES), 'Absent, as the other facts, if the job was removed.'),
  finishedAt: timestamp,
}

/** Everything about the jobs of one name in a time range. */
export const nameReport = named(
  'JobNameReport',
  view(
    {
      name: anyText,
      from: timestamp,
      to: timestamp,
      step: duration(),
      points: listOf(seriesPoint),
      ...figures,
      queues: about(
        listOf(view({ queue: anyText, ...figures }, ratios)),
        'The queues in which it was active, most runs first.',
      ),
      errors: about(
        listOf(view({ fingerprint: anyText, title: anyText, failures: integer() })),
        'The ten errors with most failed runs of this name.',
      ),
      slowest: about(listOf(view({ id: anyText, runMs: integer() }, jobFacts)), 'The ten longest runs of the range.'),
      mostRetried: about(
        listOf(view({ id: anyText, attempts: integer() }, jobFacts)),
        'The ten jobs with the highest attempt of the range, from the second on.',
      ),
      workers: about(listOf(workerView), 'Live workers that have a handler for it.'),
      complete: about(boolean, 'false: there are too many records, and the oldest are not counted.'),
    },
    ratios,
  ),
)
export type NameReport = Infer<typeof nameReport>
