import { PRIORITY_MAX } from '../../core/job/job.js'
import { byBytes } from '../columns.js'
import { BACKLOG_DUE_MAX, type Backlog, type BacklogRequest } from '../store.js'
import { isHeldBack } from './partitions.js'
import type { MemoryTables } from './tables.js'

type Draft = { -readonly [Field in keyof Backlog]: Backlog[Field] }

export function backlog(tables: MemoryTables, { exceptTag, deadMax }: BacklogRequest, now: number): readonly Backlog[] {
  const found = new Map<string, Draft>()
  const draftOf = (queue: string): Draft => {
    const draft = found.get(queue) ?? { queue, dead: 0 }
    found.set(queue, draft)
    return draft
  }
  for (const queue of tables.queues.keys()) {
    for (let priority = 0; priority <= PRIORITY_MAX; priority++) {
      const line = tables.line(queue, priority).due(now, BACKLOG_DUE_MAX)
      const due = line.filter(({ job }) => tables.queues.get(queue)?.paused || !isHeldBack(tables, job, now))
      const [first, again] = [due[0], due.find(row => row.job.attempt > 0)]
      if (first) draftOf(queue).dueAt = earlier(found.get(queue)?.dueAt, first.job.runAt)
      if (again) draftOf(queue).retryDueAt = earlier(found.get(queue)?.retryDueAt, again.job.runAt)
    }
  }
  const dead = [...tables.rows.values()].flatMap(({ job }) => (job.state === 'dead' ? job : []))
  dead.sort((a, b) => b.finishedAt! - a.finishedAt!)
  for (const { queue, reason, tags, acknowledgedAt, finishedAt } of dead.slice(0, deadMax)) {
    if (acknowledgedAt !== undefined || reason === 'discarded' || tags.includes(exceptTag)) continue
    const draft = draftOf(queue)
    draft.dead += 1
    draft.deadSince = finishedAt!
  }
  return [...found.values()].sort((a, b) => byBytes(a.queue, b.queue))
}

const earlier = (a: number | undefined, b: number): number => Math.min(a ?? b, b)
