import { timeText } from '../../core/job/view.js'
import { eventsQueue, LISTENER_KEPT_MS, type Listener, listenerOf } from '../../core/listener/listener.js'
import type { Store } from '../../store/store.js'
import type { Log } from '../client/log.js'
import { bodyOf } from '../records/records.js'
import { LISTENER } from './listeners.js'

const BATCH = 500

/** Gives up listeners that no process has used for long, so that their events don't fill the store. */
export async function forgetListeners(store: Store, now: number, log: Log): Promise<void> {
  for (const record of await store.records(LISTENER, { limit: BATCH })) {
    for (const listener of bodyOf<Listener>(record)) {
      if (listener.seenAt >= now - LISTENER_KEPT_MS) continue
      const [put] = await store.putRecords([{ kind: LISTENER, id: record.id, body: null, expect: record.version }])
      if (put!.status !== 'written') continue
      const { as, event: on, seenAt } = listener
      const facts = { event: 'listener.forgotten', as, on, seenAt: timeText(seenAt), queue: eventsQueue(listener) }
      log.warn(facts, 'no process has listened for a week, dropping the events')
    }
  }
  for (const { name } of await store.queues()) {
    const id = listenerOf(name)
    if (id !== undefined) await dropEvents(store, name, id)
  }
}

/** Drops the events that wait for a listener that does not exist. They are listed first: a listener may come back meanwhile. */
async function dropEvents(store: Store, queue: string, id: string): Promise<void> {
  for (;;) {
    const { data } = await store.list({ queue, state: 'waiting' }, { limit: BATCH })
    if (data.length === 0 || (await store.records(LISTENER, { ids: [id] })).length > 0) return
    const removed = await store.remove(data.map(job => job.id))
    if (!removed.some(({ status }) => status === 'changed')) return
  }
}
