import type { RunStatus } from '../../../core/job/job.js'
import type { AttemptView } from '../../../core/job/view.js'
import { formatMs } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import type { LogView } from '../../../engine/jobs/log-view.js'
import type { RunOrder } from '../../../engine/jobs/query.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { type PageOptions, pageOf, sayMore } from '../../list.js'
import { brief, timeOf } from '../../output/moment.js'
import { type Cell, paint, type Style, table } from '../../output/print.js'
import { hang, show } from '../../output/show.js'
import { markCell, RUN_MARKS } from '../../output/symbols.js'
import { found, title } from './job.js'
import { noteOf } from './note.js'

type HistoryOptions = BackendOptions & PageOptions

export async function showHistory(id: string, options: HistoryOptions & { order?: RunOrder }, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const job = await found(backend, id)
    const [list, { now }] = await Promise.all([
      backend.byId.history(job.id, { ...pageOf(options), ...present({ order: options.order }) }),
      backend.info(),
    ])
    show(io, options, list, style =>
      list.data.length === 0 ? '' : `${title(job, style)}${attemptTable(list.data, now, style)}`,
    )
    sayRest(list.data.length === 0 ? `${job.kind} ${job.id} has not run yet` : undefined, list.page.next, options, io)
  })
}

export function attemptTable(attempts: readonly AttemptView[], now: number, style: Style): string {
  const columns = [
    { title: 'Run', align: 'right' },
    { title: 'Attempt' },
    { title: 'Status' },
    { title: 'Started', align: 'right' },
    { title: 'Took', align: 'right' },
    { title: 'Notes', wraps: true },
  ] as const
  const rows = attempts.map((attempt): Cell[] => [
    String(attempt.run),
    attempt.label,
    markCell(RUN_MARKS[attempt.status as RunStatus], style),
    `${brief(now - timeOf(attempt.startedAt))} ago`,
    formatMs(attempt.durationMs),
    noteOf(attempt, style),
  ])
  return table(columns, rows, { ...style, boxes: false })
}

export async function showLogs(id: string, options: HistoryOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const job = await found(backend, id)
    const list = await backend.byId.logs(job.id, pageOf(options))
    show(io, options, list, style => list.data.map(line => logLine(line, style)).join(''))
    sayRest(list.data.length === 0 ? `${job.kind} ${job.id} has no log lines` : undefined, list.page.next, options, io)
  })
}

/** `08:15:00.123`, of a time in UTC. */
export const clockTime = (at: string): string => at.slice('2026-11-16T'.length, -1)

export function logLine({ at, run, message, data }: LogView, style: Style): string {
  const head = `${clockTime(at)}  run ${run}  `
  const words = data === undefined ? message : `${message}  ${JSON.stringify(data)}`
  return hang(paint(head, 'dim', style), head.length, words, style)
}

function sayRest(empty: string | undefined, next: string | undefined, options: HistoryOptions, io: Io): void {
  if (options.json) return
  if (empty !== undefined) io.stderr.write(`${empty}\n`)
  sayMore(next, io)
}
