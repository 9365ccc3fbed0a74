import { claimOptions } from '../../core/lease/options.js'
import { isInternal } from '../../core/queue/internal.js'
import { type Duration, toMs } from '../../core/values/duration.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { about, type Infer, inCode, read, refuse, type Schema } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import type { NameChoice } from '../../store/store.js'
import { HTTP_JOB, QUEUE_DEFAULT } from '../client/definition.js'

// The options of pull workers with their defaults.

const signal = about(
  inCode<AbortSignal>('an AbortSignal', given => given instanceof AbortSignal),
  'Aborted when the caller no longer waits for the response: claimed jobs are released.',
)
const claim = object(claimOptions.required, { ...claimOptions.optional, signal })
export type ClaimOptions = Infer<typeof claim>

export interface ClaimPlan {
  readonly workerId: string
  readonly queues: readonly string[]
  readonly names: NameChoice
  readonly limit: number
  readonly leaseMs: number
  readonly waitMs: number
  readonly token: string
  /** The caller may repeat the claim, perhaps at this moment. */
  readonly isRepeatable: boolean
  readonly host: string
  readonly pid: number
  readonly build?: string
  readonly signal?: AbortSignal
}

export const LEASE_DEFAULT_MS = 30_000

export function claimPlan(options: ClaimOptions, newToken: () => string): ClaimPlan {
  const where = 'leases.claim:'
  const given = read(claim, options, where)
  const { workerId, queues = [QUEUE_DEFAULT], names, limit = 1, wait = 0, token, host = 'unknown', pid = 0 } = given
  const internal = queues.find(isInternal)
  if (internal !== undefined) {
    throw refuse(['queues'], `"${internal}" is served by Chronos itself; leave it out`, where, 'INVALID_OPTION')
  }
  return present({
    workerId,
    queues: [...new Set(queues)],
    names: names ? { list: [...new Set(names)], isExcluded: false } : { list: [HTTP_JOB], isExcluded: true },
    limit,
    leaseMs: leaseMsOf(given.lease),
    waitMs: toMs(wait, 'wait'),
    token: token ?? newToken(),
    isRepeatable: token !== undefined,
    host,
    pid,
    build: given.build,
    signal: given.signal,
  })
}

export const leaseMsOf = (lease: Duration | undefined): number => toMs(lease ?? LEASE_DEFAULT_MS, 'lease')

/** The options of a call for a lease. */
export function readLease<T>(schema: Schema<T>, jobId: unknown, options: unknown, where: string): T {
  read(freeText, jobId, `${where}: jobId`)
  return read(schema, options, `${where}:`)
}
