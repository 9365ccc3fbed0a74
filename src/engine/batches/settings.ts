import { type Duration, toMs } from '../../core/values/duration.js'
import { about, duration, inCode, integer, oneOf } from '../../core/values/schema.js'
import { object, union } from '../../core/values/shape.js'

const SIZE_MAX = 1_000
const WAIT_MAX_MS = 10_000
const WAIT_DEFAULT_MS = 50

/** Which jobs may share a call: those with the same tenant, partition, or value of a function. */
export type BatchBy<Payload> = 'tenant' | 'partition' | ((payload: Payload) => string)

/** A handler that gets several jobs in one call. */
export interface BatchOptions<Payload> {
  /** The most jobs in one call, 1 to 1,000. */
  readonly size: number
  /** How long the first job of a batch waits for others. Default 50ms, at most 10s. */
  readonly wait?: Duration
  /** Default: jobs of all tenants share calls. */
  readonly by?: BatchBy<Payload>
}

export const batchOptions = object(
  { size: about(integer(1, SIZE_MAX), 'The most jobs in one call.') },
  {
    wait: about(duration({ max: WAIT_MAX_MS }), 'How long the first job of a batch waits for others. Default 50ms.'),
    by: about(
      union(
        oneOf(['tenant', 'partition']),
        inCode<(payload: never) => string>('a function of the payload', given => typeof given === 'function'),
      ),
      'Only jobs with the same tenant, partition, or value of a function share a call.',
    ),
  },
)

/** The checked settings of a definition. */
export interface BatchSettings {
  readonly size: number
  readonly waitMs: number
  readonly by?: BatchBy<never>
}

export function batchSettings({ size, wait, by }: BatchOptions<never>): BatchSettings {
  const waitMs = wait === undefined ? WAIT_DEFAULT_MS : toMs(wait, 'batch.wait')
  return { size, waitMs, ...(by !== undefined && { by }) }
}
