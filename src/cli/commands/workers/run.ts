import type { WorkerView } from '../../../engine/worker/fleet.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { type Entry, entryTable } from '../../output/entry-table.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Style } from '../../output/print.js'
import { many, show } from '../../output/show.js'
import { type Mark, markCell } from '../../output/symbols.js'

const MARKS: Readonly<Record<WorkerView['state'], Mark>> = {
  alive: { symbol: '✓', ascii: '+', word: 'alive', tone: 'good' },
  silent: { symbol: '?', ascii: '?', word: 'silent', tone: 'odd' },
}

export async function listWorkers(options: BackendOptions & { readonly json?: true }, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const [data, { now }] = await Promise.all([backend.workers(), backend.info()])
    show(io, options, { data, page: {} }, style => (data.length === 0 ? '' : workerTable(data, now, style)))
    if (!options.json) io.stderr.write(summary(data))
  })
}

function summary(workers: readonly WorkerView[]): string {
  if (workers.length === 0) return 'no worker is known: jobs wait until one is started\n'
  const silent = workers.filter(({ state }) => state === 'silent').length
  return `${many(workers.length, 'worker')}${silent === 0 ? '' : `, ${silent} of them silent`}\n`
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
    { title: 'Since', align: 'right' },
    { title: 'Seen', align: 'right' },
  ] as const
  return entryTable(columns, ['Host', 'Pid', 'Queues', 'Jobs'], entries, style)
}
