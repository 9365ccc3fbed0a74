import { units } from '../partition/limits.js'
import { HOUR_MS } from '../values/duration.js'
import { name } from '../values/limits.js'
import {
  about,
  anyText,
  anything,
  boolean,
  duration,
  type Infer,
  integer,
  named,
  pattern,
  text,
} from '../values/schema.js'
import { list, object } from '../values/shape.js'

// What pull workers send.

const WORKER_ID_MAX = 128
const WAIT_MAX_MS = 30_000
const LOG_ENTRIES_MAX = 100
const PID_MAX = 2 ** 31 - 1
const BUILD_MAX = 100

const token = about(
  pattern(32, /^[0-9a-f]{32}$/, '32 lower-case hexadecimal digits, as the claim gave them'),
  'Proof of the lease, from the claim.',
  { example: '9f86d081884c7d659a2feaa0c55ad015' },
)
const run = about(
  integer(1),
  '`job.run` of the lease. With it, a request that arrives late never ends a later run, even if the claim was repeated.',
)
const lease = about(duration({ min: 1_000, max: HOUR_MS }), '1s to 1h; default 30s.')
const names = list(name, { min: 1, max: 100, of: 'names', empty: 'expected 1 to 100 names, got an empty list' })

export const claimOptions = named(
  'Claim',
  object(
    { workerId: about(text(WORKER_ID_MAX), 'Unique for every process; the list of workers shows it.') },
    {
      queues: about(names, 'Default: `default`.'),
      names: about(names, 'Claim only jobs with these names. Default: all except HTTP jobs.'),
      limit: about(integer(1, 100), 'Default 1.'),
      lease,
      wait: about(duration({ max: WAIT_MAX_MS }), 'How long to wait if no job is due: up to 30s.'),
      token: about(token, 'New for every claim; the same value repeats a claim whose response was lost.'),
      host: about(text(WORKER_ID_MAX), 'Where the worker runs, shown in the list of workers.'),
      pid: integer(0, PID_MAX),
      build: about(text(BUILD_MAX), 'The version of its program, shown with the worker and in incidents.'),
    },
  ),
  { example: { workerId: 'ml-7:4711', queues: ['images'], limit: 5, lease: '30s', wait: '20s' } },
)

const logEntry = object({ message: anyText }, { data: anything })

export const extendOptions = named(
  'LeaseExtension',
  object(
    { token },
    {
      run,
      lease,
      progress: about(anything, 'Progress of the run, as the dashboard shows it.'),
      log: list(logEntry, { max: LOG_ENTRIES_MAX, of: 'lines' }),
    },
  ),
)

const reportedError = object(
  { message: anyText },
  {
    name: anyText,
    code: anyText,
    status: integer(100, 599),
    stack: anyText,
    retryable: about(boolean, 'Overrides every rule: false ends the job, true allows its retries.'),
  },
)

const spent = about(units, 'What the run has really cost, by unit, in place of the estimate of its enqueue.')
const note = about(anyText, 'Kept with the attempt and shown in the history.')

export const failOptions = named(
  'LeaseFailure',
  object({ token, error: reportedError }, { run, retryAfter: duration(), note, spent }),
)
export const completeOptions = object({ token }, { run, result: anything, note, spent })
export const snoozeOptions = object({ token, delay: duration() }, { run, note: anyText })
export const releaseOptions = object(
  { token },
  { run, started: about(boolean, 'false: the handler has not begun, so it is as if the job had not been claimed.') },
)

export type ExtendOptions = Infer<typeof extendOptions>
export type FailOptions = Infer<typeof failOptions>
export type CompleteOptions = Infer<typeof completeOptions>
export type SnoozeOptions = Infer<typeof snoozeOptions>
export type ReleaseOptions = Infer<typeof releaseOptions>
export type ReportedError = Infer<typeof reportedError>
export type LogEntry = Infer<typeof logEntry>
