import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'

/** Needs no confirmation, because it can be undone. */
export function pauseQueue({ name }: Pick<QueueReport, 'name'>, after: () => void): Promise<unknown> {
  return act({
    run: () => api.queues.pause(name),
    done: `Paused queue ${name}; running jobs continue`,
    undo: () => api.queues.resume(name),
    after,
  })
}

export function resumeQueue(name: string, after: () => void): Promise<unknown> {
  return act({
    run: () => api.queues.resume(name),
    done: `Resumed queue ${name}`,
    undo: () => api.queues.pause(name),
    after,
  })
}
