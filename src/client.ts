import { type ChronosClient, clientOf } from './client/client.js'
import type { ClientOptions } from './client/options.js'

export type { ChronosClient } from './client/client.js'
export type { ClientOptions } from './client/options.js'
export type { HttpRequest } from './core/http/request.js'
export type { DeathReason, JobState, RunStatus } from './core/job/job.js'
export type { Decision } from './core/job/transition.js'
export type { AttemptView, JobView } from './core/job/view.js'
export type { Duration } from './core/values/duration.js'
export { ChronosError, type ErrorCode } from './core/values/error.js'
export { defineJob, type JobContext, type JobDefinition } from './engine/client/definition.js'
export type { EnqueueManyResult, EnqueueOptions, EnqueueResult } from './engine/client/enqueuer.js'
export type { JobOf } from './engine/jobs/jobs.js'
export type { HistoryQuery, JobQuery, List, PageQuery } from './engine/jobs/query.js'
export type { FollowOptions, JobUpdate } from './engine/results/follow.js'
export type { WaitOptions } from './engine/results/waiters.js'

/** A client of a Chronos server for programs without access to its database; it runs in browsers and edge runtimes too. */
export function createClient(options: ClientOptions): ChronosClient {
  return clientOf(options)
}
