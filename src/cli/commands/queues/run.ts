import { ChronosError } from '../../../core/values/error.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import type { QueueRecord } from '../../../store/store.js'
import { type Backend, withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { brief, timeOf } from '../../output/moment.js'
import { policyWords } from '../../output/policy-words.js'
import { type Cell, type Column, type Style, type Tone, table } from '../../output/print.js'
import { many, show } from '../../output/show.js'
import { oneLine } from '../../output/width.js'
import { readPolicy } from '../enqueue/payload.js'
import { cappedText } from '../stats/run.js'

export interface QueueOptions extends BackendOptions {
  readonly json?: true
}

export async function listQueues(options: QueueOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const [data, { now }] = await Promise.all([backend.queues.report(), backend.info()])
    show(io, options, { data, page: {} }, style => (data.length === 0 ? '' : queueTable(data, now, style)))
    if (!options.json) io.stderr.write(`${many(data.length, 'queue')}\n`)
  })
}

const OLDEST_FROM_COLUMNS = 90
const POLICY_FROM_COLUMNS = 120

function queueTable(queues: readonly QueueReport[], now: number, style: Style): string {
  const fields = FIELDS.filter(({ from }) => style.columns >= from)
  const rows = queues.map(queue => fields.map(({ cell }) => cell(queue, now, style)))
  return table(
    fields.map(({ column }) => column),
    rows,
    { ...style, boxes: false },
  )
}

interface Field {
  readonly column: Column
  /** Shown on terminals of so many columns. */
  readonly from: number
  cell(queue: QueueReport, now: number, style: Style): Cell
}

const counted = (title: string, phase: keyof QueueReport['counts'], tone?: Tone): Field => ({
  column: { title, align: 'right' },
  from: 0,
  cell: ({ counts }) =>
    tone && counts[phase].value > 0 ? { text: cappedText(counts[phase]), tone } : cappedText(counts[phase]),
})

const FIELDS: readonly Field[] = [
  { column: { title: 'Queue' }, from: 0, cell: ({ name }) => name },
  { column: { title: 'State' }, from: 0, cell: stateCell },
  counted('Queued', 'queued'),
  counted('Retrying', 'retrying', 'warn'),
  counted('Later', 'scheduled'),
  counted('Running', 'running'),
  counted('Dead', 'dead', 'bad'),
  {
    column: { title: 'Oldest', align: 'right' },
    from: OLDEST_FROM_COLUMNS,
    cell: ({ oldestDueAt }, now) => (oldestDueAt === undefined ? NOTHING : brief(now - timeOf(oldestDueAt))),
  },
  {
    column: { title: 'Policy of its own', wraps: true },
    from: POLICY_FROM_COLUMNS,
    cell: ({ retry }, _, style) => (retry ? policyWords(retry, style) : NOTHING),
  },
]

const NOTHING: Cell = { text: '-', tone: 'dim' }

/** Whoever looks for jobs that do not start has to see it here. */
function stateCell({ paused, hasWorkers, counts }: QueueReport): Cell {
  if (paused) return { text: 'paused', tone: 'warn' }
  const isWaiting = counts.queued.value > 0 || counts.retrying.value > 0
  return hasWorkers || !isWaiting ? 'open' : { text: 'no worker', tone: 'bad' }
}

interface SetOptions extends QueueOptions {
  readonly retry?: string
  readonly reset?: true
}

export async function setQueue(name: string, options: SetOptions, io: Io): Promise<void> {
  if ((options.retry === undefined) === (options.reset === undefined)) {
    throw new ChronosError('INVALID_OPTION', 'queues set: give --retry with a policy, or --reset to take it away')
  }
  const retry = options.retry === undefined ? null : readPolicy(options.retry, '--retry')
  await change(backend => backend.queues.set(name, { retry }), options, io)
}

export async function pauseQueue(name: string, options: QueueOptions, io: Io): Promise<void> {
  await change(backend => backend.queues.pause(name), options, io)
}

export async function resumeQueue(name: string, options: QueueOptions, io: Io): Promise<void> {
  await change(backend => backend.queues.resume(name), options, io)
}

async function change(act: (backend: Backend) => Promise<QueueRecord>, options: QueueOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const queue = await act(backend)
    show(io, options, queue, style => {
      const policy = queue.retry ? `its own policy: ${policyWords(queue.retry, style)}` : 'no policy of its own'
      return `queue ${oneLine(queue.name)} is ${queue.paused ? 'paused' : 'open'}; ${policy}\n`
    })
  })
}
