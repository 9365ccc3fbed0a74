import { DAY_MS } from '../../core/values/duration.js'
import { LEDGER, type LedgerDelta } from '../../store/fold.js'
import { IdSum } from '../../store/id-xor.js'
import type { Store } from '../../store/store.js'
import { folded } from '../figures/counts.js'
import { readWorkers } from '../figures/statistics.js'
import { bodyOf } from '../records/records.js'

const BATCH = 500
/** How long a queue is kept after its last job was removed. */
const KEPT_MS = 7 * DAY_MS

/** Removes queues without jobs and settings that no live worker serves. The ledger tells when their last job was removed. */
export async function removeEmptyQueues(opened: Store, now: number): Promise<void> {
  const store = await folded(opened)
  const alive = (await readWorkers(store, now)).filter(worker => worker.alive)
  const served = new Set(alive.flatMap(({ queues }) => queues))
  const unset = (await store.queues()).filter(({ name, paused, retry }) => !paused && !retry && !served.has(name))
  for (let from = 0; from < unset.length; from += BATCH) {
    const ids = unset.slice(from, from + BATCH).map(({ name }) => name)
    const ledger = new Map((await store.records(LEDGER, { ids })).map(record => [record.id, record]))
    const isEmpty = (id: string): boolean => {
      const record = ledger.get(id)
      return !record || (record.updatedAt < now - KEPT_MS && bodyOf<LedgerDelta>(record).some(isBalanced))
    }
    const removed = await store.removeQueues(ids.filter(isEmpty), 'unset')
    const over = removed.flatMap(id => ledger.get(id) ?? [])
    await store.putRecords(over.map(({ id, version }) => ({ kind: LEDGER, id, body: null, expect: version })))
  }
}

/** Every job that was enqueued has been removed. */
const isBalanced = ({ enqueued, removed, idSum }: LedgerDelta): boolean =>
  enqueued === removed && idSum === new IdSum().toString()
