import { ChronosError, shown } from '../../core/values/error.js'
import type { Store } from '../../store/store.js'

/** A request to drain a worker, with the id of the worker's record. It stays until the worker has stopped. */
export const WORKER_DRAIN = 'worker-drain'

export interface WorkerDrain {
  readonly at: number
}

/** The id of the record of a pull worker, which chooses its own id. */
export const pullRecordId = (workerId: string): string => `pull:${workerId}`

/** Which of these workers are asked to drain. */
export async function drainsAmong(store: Store, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const records = ids.length === 0 ? [] : await store.records(WORKER_DRAIN, { ids })
  return new Set(records.map(({ id }) => id))
}

export async function requestDrain(store: Store, recordId: string, at: number): Promise<void> {
  const body = JSON.stringify({ at } satisfies WorkerDrain)
  await store.putRecords([{ kind: WORKER_DRAIN, id: recordId, body }])
}

export function noWorker(id: string): ChronosError {
  return new ChronosError('NOT_FOUND', `there is no worker ${shown(id)}; it may have stopped`, { details: { id } })
}
