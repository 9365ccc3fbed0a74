import type { WorkerView } from '../../../engine/worker/fleet.js'
import type { Listing } from '../../list.js'
import { type Entry, entryTable } from '../../output/entry-table.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { many } from '../../output/show.js'
import { type Mark, markCell } from '../../output/symbols.js'

const MARKS: Readonly<Record<WorkerView['state'], Mark>> = {
  alive: { symbol: '✓', ascii: '+', word: 'alive', tone: 'good' },
  silent: { symbol: '?', ascii: '?', word: 'silent', tone: 'odd' },
}

export const WORKERS: Listing<WorkerView> = {
  noun: 'worker',
  none: 'no workers: jobs wait until one is started',
  read: backend => backend.workers(),
  text: workerTable,
  summary,
}

function summary(workers: readonly WorkerView[]): string {
  const silent = workers.filter(({ state }) => state === 'silent').length
  return `${many(workers.length, 'worker')}${silent === 0 ? '' : `, ${silent} silent`}`
}

function workerTable(workers: readonly WorkerView[], now: number, style: Style): string {
  const between = style.unicode ? ' · ' : ', '
  const entries = workers.map((worker): Entry => {
    const { id, host, pid, names, running, concurrency } = worker
    const queues = worker.queues.length === 0 ? 'all queues' : `queues ${worker.queues.join(', ')}`
    const jobs = names.join(', ')
    return {
      cells: [
        id,
        markCell(MARKS[worker.state], style),
        `${running}/${concurrency}`,
        `${brief(now - timeOf(worker.startedAt))} ago`,
        `${brief(now - timeOf(worker.seenAt))} ago`,
      ],
      below: [`${host}, pid ${pid}${between}${queues}${between}jobs ${jobs}`],
      beside: [host, String(pid), worker.queues.join(',') || '(all)', names.join(',')],
    }
  })
  const columns = [
    { title: 'Id' },
    { title: 'State' },
    { title: 'Running', align: 'right' },
    { title: 'Started', align: 'right' },
    { title: 'Heartbeat', align: 'right' },
  ] as const
  return entryTable(columns, ['Host', 'Pid', 'Queues', 'Jobs'], entries, style)
}
