import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { may } from '../../data/session.js'
import type { Action } from '../../parts/layer/actions.js'
import { href } from '../../shell/router.js'

/** The actions for a queue. `deleted` is called when it is gone. */
export function queueActions(queue: QueueReport, after: () => void, deleted = after): readonly (Action | false)[] {
  const { name, paused } = queue
  return [
    { text: 'Show jobs', icon: 'jobs', as: 'button', href: href('/jobs', { queue: name }) },
    { text: 'Show dead letters', icon: 'dead', href: href('/dead', { queue: name }) },
    may('operator') && {
      text: paused ? 'Resume' : 'Pause',
      icon: paused ? 'play' : 'pause',
      hint: paused ? undefined : 'Running jobs continue; no new jobs start',
      shortcut: 'P',
      as: paused ? 'primary' : 'button',
      onPress: () => void turnQueue(queue, after),
    },
    may('admin') && {
      text: 'Delete',
      icon: 'trash',
      tone: 'danger',
      onPress: () => void deleteQueue(name, deleted),
    },
  ]
}

/** The server refuses it while the queue has jobs. */
function deleteQueue(name: string, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: `Delete queue ${name}?`,
      effect: 'Its settings are removed. A queue with jobs is not deleted; an enqueue creates the queue again.',
      verb: 'Delete queue',
      tone: 'danger',
    },
    run: () => api.queues.delete(name),
    done: `Deleted queue ${name}`,
    after,
  })
}

/** Pauses or resumes a queue. Needs no confirmation, because it can be undone. */
function turnQueue({ name, paused }: QueueReport, after: () => void): Promise<unknown> {
  const [run, undo] = paused ? [api.queues.resume, api.queues.pause] : [api.queues.pause, api.queues.resume]
  return act({
    run: () => run(name),
    done: paused ? `Resumed queue ${name}` : `Paused queue ${name}; running jobs continue`,
    undo: () => undo(name),
    after,
  })
}
