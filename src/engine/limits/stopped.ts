import type { StoppedFacts } from '../../core/alert/rule.js'
import type { QueueRecord, Store } from '../../store/store.js'

/** More stopped partitions of a queue than this are not counted. */
export const STOPPED_MAX = 100

/** The partitions of each queue that a dead letter stops; queues without any are absent. */
export async function stoppedPartitions(
  store: Store,
  queues: readonly QueueRecord[],
): Promise<readonly StoppedFacts[]> {
  const found: StoppedFacts[] = []
  for (const { name: queue, limits } of queues) {
    if (limits?.partitions?.onDead !== 'stop') continue
    const stopped = await store.partitions!(queue, { which: 'stopped', limit: STOPPED_MAX, cap: 1 })
    const [first] = stopped
    if (first?.stoppedBy === undefined) continue
    found.push({ queue, partitions: stopped.length, partition: first.name, jobId: first.stoppedBy })
  }
  return found
}
