import type { JobState, WaitingPhase } from '../../core/job/job.js'

/** Which jobs: a job must meet every condition. */
export interface JobFilter {
  readonly ids?: readonly string[]
  readonly state?: JobState | readonly JobState[]
  /** Derived by `phaseOf` (`core/job/job.ts`) from the job, the time and whether its queue is paused. */
  readonly phase?: WaitingPhase
  readonly queue?: string
  readonly name?: string
  readonly tenantId?: string
  readonly key?: string
  readonly tag?: string
  readonly reason?: string
  readonly fingerprint?: string
  readonly dependency?: string
  readonly redriveId?: string
  readonly scheduleId?: string
  /** Only jobs that this worker runs now. */
  readonly workerId?: string
  readonly acknowledged?: boolean
  /** Only jobs in queues that Chronos fills itself, or only others: see `isInternal`. */
  readonly internal?: boolean
  /** Only jobs with more than one attempt in their generation, or only others. */
  readonly retried?: boolean
  /** Each range starts with the first time and ends before the second. */
  readonly createdAfter?: number
  readonly createdBefore?: number
  /** The start of the latest run. */
  readonly startedAfter?: number
  readonly startedBefore?: number
  /** The end of the job. */
  readonly finishedAfter?: number
  readonly finishedBefore?: number
  /** The end of any run that failed, timed out or was lost, in any generation. */
  readonly failedAfter?: number
  readonly failedBefore?: number
  /** Part of the name, code or message of the last error. ASCII letters match in upper and lower case. */
  readonly error?: string
  /** Part of the id, name, queue, key, tags, payload or error. ASCII letters match in upper and lower case. */
  readonly text?: string
  /** `text` is not looked for in secrets: of the payload of a job named `http`, only in the URL before its query. */
  readonly masksSecrets?: boolean
}
