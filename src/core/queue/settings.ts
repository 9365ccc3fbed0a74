import { limit, partitionLimits } from '../partition/limits.js'
import { storedPolicyInput } from '../policy/form.js'
import type { PolicyInput } from '../policy/policy.js'
import { DAY_MS } from '../values/duration.js'
import { about, boolean, duration, type Infer, integer, named, type Schema } from '../values/schema.js'
import { nullable, object } from '../values/shape.js'

const BUCKETS_MAX = 200

/** The settings of a queue at run time. */
export const queueSettings = named(
  'QueueSettings',
  object(
    {},
    {
      paused: boolean,
      retry: about(
        nullable(storedPolicyInput as Schema<PolicyInput>),
        'Overrides the policy of this queue from now on; null removes the override.',
      ),
      limit: about(
        nullable(limit),
        'Limits of the whole queue, which override the code from now on; null: those of the code.',
      ),
      partitions: about(
        nullable(partitionLimits),
        'Limits of each partition, which override the code from now on; null: those of the code.',
      ),
    },
  ),
  { example: { retry: { maxRetries: 5, jitter: 'full' } } },
)

export const waveQuery = object(
  {},
  {
    window: about(duration({ min: 60_000, max: 7 * DAY_MS }), 'How far to look ahead, from 1m to 7d; default 15m.'),
    buckets: about(integer(1, BUCKETS_MAX), `1 to ${BUCKETS_MAX}; default 60.`),
  },
)

export type QueueSettings = Infer<typeof queueSettings>
export type WaveQuery = Infer<typeof waveQuery>
