import type { DeathReason, Job, StoredError } from '../job/job.js'
import { timeText } from '../job/view.js'
import { ChronosError } from '../values/error.js'
import { fitsUtf8 } from '../values/json.js'
import type { MessageType } from './webhook.js'

export const MESSAGE_MAX_BYTES = 256 * 1024
/** A longer result is left out: a message reports an event, and the job has the rest. */
const RESULT_BYTES = 8 * 1024

/** A job's new state, for webhook endpoints and listeners. */
export interface JobNews {
  readonly type: 'job.succeeded' | 'job.dead' | 'job.cancelled' | 'job.retrying'
  readonly job: Pick<
    Job,
    | 'id'
    | 'name'
    | 'queue'
    | 'tenantId'
    | 'key'
    | 'tags'
    | 'generation'
    | 'run'
    | 'attempt'
    | 'delivery'
    | 'policyId'
    | 'override'
    | 'createdAt'
    | 'webhook'
  >
  /** When it happened. */
  readonly at: number
  readonly reason?: DeathReason
  readonly startedAt?: number
  /** JSON text. */
  readonly result?: string
  readonly error?: StoredError
  readonly delayMs?: number
}

/** The `data` of a message about a job. Times are RFC 3339. */
export interface JobMessage {
  readonly jobId: string
  readonly name: string
  readonly queue: string
  readonly tenantId?: string
  readonly key?: string
  readonly tags: readonly string[]
  readonly state: (typeof STATES)[keyof typeof STATES]
  readonly reason?: DeathReason
  readonly generation: number
  readonly run: number
  readonly attempt: number
  readonly createdAt: string
  readonly startedAt?: string
  /** Only in a message about a retry. */
  readonly delayMs?: number
  readonly nextRunAt?: string
  /** Only in a message about a job that ended. */
  readonly finishedAt?: string
  readonly durationMs?: number
  readonly error?: Omit<StoredError, 'stack'>
  /** Absent if it is longer than 8 KiB. */
  readonly result?: unknown
}

const STATES = {
  'job.succeeded': 'succeeded',
  'job.dead': 'dead',
  'job.cancelled': 'cancelled',
  'job.retrying': 'waiting',
} as const

/** The body of a message: written once, and sent unchanged in every delivery. */
export function messageBody(type: MessageType, at: number, data: unknown): string {
  const body = JSON.stringify({ type, timestamp: timeText(at), data })
  if (fitsUtf8(body, MESSAGE_MAX_BYTES)) return body
  throw new ChronosError('PAYLOAD_TOO_LARGE', `${type}: the message is over 256 KiB; send a reference instead`)
}

export function jobMessageBody({ type, job, at, reason, startedAt, result, error, delayMs }: JobNews): string {
  const { id, name, queue, tenantId, key, tags, generation, run, attempt, createdAt } = job
  return messageBody(type, at, {
    jobId: id,
    name,
    queue,
    tenantId,
    key,
    tags,
    state: STATES[type],
    reason,
    generation,
    run,
    attempt,
    createdAt: timeText(createdAt),
    startedAt: timeText(startedAt),
    ...(type === 'job.retrying'
      ? { delayMs, nextRunAt: timeText(Math.ceil(at + (delayMs ?? 0))) }
      : { finishedAt: timeText(at) }),
    durationMs: startedAt === undefined ? undefined : Math.max(0, Math.round(at - startedAt)),
    error: error && withoutStack(error),
    ...(result !== undefined && fitsUtf8(result, RESULT_BYTES) && { result: JSON.parse(result) as unknown }),
  })
}

/** A stack would show the internals of a program to the receiver. */
function withoutStack({ stack: _, ...error }: StoredError): Omit<StoredError, 'stack'> {
  return error
}
