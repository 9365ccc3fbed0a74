import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'

/** Pauses or resumes a queue. Needs no confirmation, because it can be undone. */
export function turnQueue({ name, paused }: QueueReport, after: () => void): Promise<unknown> {
  const [run, undo] = paused ? [api.queues.resume, api.queues.pause] : [api.queues.pause, api.queues.resume]
  return act({
    run: () => run(name),
    done: paused ? `Resumed queue ${name}` : `Paused queue ${name}; running jobs continue`,
    undo: () => undo(name),
    after,
  })
}
