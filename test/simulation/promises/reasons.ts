import type { WaitCode } from '../../../src/core/job/explain.js'
import type { StoreModel } from '../../model/model.js'

/** Every reason for which the job waits now, of those that the store knows. */
export function reasonsOf(model: StoreModel, id: string, now: number): WaitCode[] {
  const job = model.row(id)?.job
  if (job?.state !== 'waiting') return ALL
  if (model.queues.get(job.queue)?.paused) return ['queue-paused']
  const isPlanned = job.runAt > now
  const planned: readonly WaitCode[] = isPlanned ? ['scheduled', 'retry', 'retry-after', 'snoozed'] : ['due']
  const dependency: readonly WaitCode[] = job.dependency === undefined ? [] : DEPENDENCY
  const limits: readonly WaitCode[] = job.lane === undefined ? [] : LIMITS
  return [...planned, ...dependency, ...limits]
}

const LIMITS = ['limit', 'rate', 'order', 'stopped'] as const
const DEPENDENCY = ['circuit-open', 'circuit-probing', 'circuit-ramping', 'not-before', 'budget', 'limit'] as const
/** The job has just moved on. */
const ALL: WaitCode[] = [
  'scheduled',
  'retry',
  'retry-after',
  'snoozed',
  'queue-paused',
  'due',
  ...DEPENDENCY,
  ...LIMITS,
]
