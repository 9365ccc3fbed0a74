import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'

/** What runs goes on; nothing else starts. Taken back by a press, so nobody is asked. */
export function pauseQueue({ name }: Pick<QueueReport, 'name'>, after: () => void): Promise<unknown> {
  return act({
    run: () => api.queues.pause(name),
    done: `Paused ${name}: what runs goes on, nothing else starts`,
    undo: () => api.queues.resume(name),
    after,
  })
}

export function resumeQueue(name: string, after: () => void): Promise<unknown> {
  return act({
    run: () => api.queues.resume(name),
    done: `Resumed ${name}`,
    undo: () => api.queues.pause(name),
    after,
  })
}
