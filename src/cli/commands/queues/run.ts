import { ChronosError } from '../../../core/error.js'
import type { Count, QueueRecord } from '../../../store/store.js'
import type { Io } from '../../io.js'
import { policyWords } from '../../policy-words.js'
import { type Cell, type Style, table } from '../../print.js'
import { countText, many, show } from '../../show.js'
import { type Target, type TargetOptions, withTarget } from '../../target.js'
import { oneLine } from '../../width.js'
import { readPolicy } from '../enqueue/payload.js'

export interface QueueOptions extends TargetOptions {
  readonly json?: true
}

const COUNTED = ['waiting', 'running', 'dead'] as const
const COUNT_MAX = 10_000

/** A queue with how many jobs it has in the states that matter to who looks after it. */
export interface QueueView extends QueueRecord {
  readonly count: Readonly<Record<(typeof COUNTED)[number], Count>>
}

export async function listQueues(options: QueueOptions, io: Io): Promise<void> {
  await withTarget(options, io, async target => {
    const data: QueueView[] = []
    for (const queue of await target.queues.list()) data.push({ ...queue, count: await countsOf(target, queue.name) })
    show(io, options, { data, page: {} }, style => (data.length === 0 ? '' : queueTable(data, style)))
    if (!options.json) io.stderr.write(`${many(data.length, 'queue')}\n`)
  })
}

async function countsOf({ jobs }: Target, queue: string): Promise<QueueView['count']> {
  const [waiting, running, dead] = await Promise.all(COUNTED.map(state => jobs.count({ queue, state }, COUNT_MAX)))
  return { waiting: waiting!, running: running!, dead: dead! }
}

function queueTable(queues: readonly QueueView[], style: Style): string {
  const columns = [
    { title: 'Queue' },
    { title: 'State' },
    { title: 'Waiting', align: 'right' },
    { title: 'Running', align: 'right' },
    { title: 'Dead', align: 'right' },
    { title: 'Policy of its own', wraps: true },
  ] as const
  const rows = queues.map(({ name, paused, retry, count }): Cell[] => [
    name,
    paused ? { text: 'paused', tone: 'warn' } : 'open',
    countOf(count.waiting),
    countOf(count.running),
    count.dead.value > 0 ? { text: countOf(count.dead), tone: 'bad' } : '0',
    retry ? policyWords(retry, style) : { text: '-', tone: 'dim' },
  ])
  return table(columns, rows, { ...style, boxes: false })
}

const countOf = ({ value, relation }: Count): string => `${countText(value)}${relation === 'exact' ? '' : '+'}`

interface SetOptions extends QueueOptions {
  readonly retry?: string
  readonly reset?: true
}

export async function setQueue(name: string, options: SetOptions, io: Io): Promise<void> {
  if ((options.retry === undefined) === (options.reset === undefined)) {
    throw new ChronosError('INVALID_OPTION', 'queues set: give --retry with a policy, or --reset to take it away')
  }
  const retry = options.retry === undefined ? null : readPolicy(options.retry, '--retry')
  await change(target => target.queues.set(name, { retry }), options, io)
}

export async function pauseQueue(name: string, options: QueueOptions, io: Io): Promise<void> {
  await change(target => target.queues.pause(name), options, io)
}

export async function resumeQueue(name: string, options: QueueOptions, io: Io): Promise<void> {
  await change(target => target.queues.resume(name), options, io)
}

async function change(act: (target: Target) => Promise<QueueRecord>, options: QueueOptions, io: Io): Promise<void> {
  await withTarget(options, io, async target => {
    const queue = await act(target)
    show(io, options, queue, style => {
      const policy = queue.retry ? `its own policy: ${policyWords(queue.retry, style)}` : 'no policy of its own'
      return `queue ${oneLine(queue.name)} is ${queue.paused ? 'paused' : 'open'}; ${policy}\n`
    })
  })
}
