import { policyWords } from '../../../core/policy/words.js'
import { present } from '../../../core/values/present.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import type { QueueRecord } from '../../../store/store.js'
import { act } from '../../act.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { usage } from '../../exit.js'
import type { Io } from '../../io.js'
import { type Field, type Listing, NONE, type PageOptions, pageOf } from '../../list.js'
import { brief, timeOf } from '../../output/moment.js'
import type { Cell, Style, Tone } from '../../output/print.js'
import { countText } from '../../output/show.js'
import { oneLine } from '../../output/width.js'
import { readPolicy } from '../enqueue/payload.js'
import { spelled } from '../policy/words.js'

const counted = (title: string, phase: keyof QueueReport['counts'], tone?: Tone): Field<QueueReport> => ({
  title,
  align: 'right',
  cell: ({ counts }) =>
    tone && counts[phase].value > 0 ? { text: countText(counts[phase]), tone } : countText(counts[phase]),
})

const FIELDS: readonly Field<QueueReport>[] = [
  { title: 'Queue', cell: ({ name }) => name },
  { title: 'State', cell: stateCell },
  counted('Queued', 'queued'),
  counted('Retrying', 'retrying', 'warn'),
  counted('Blocked', 'blocked', 'warn'),
  counted('Scheduled', 'scheduled'),
  counted('Running', 'running'),
  counted('Dead', 'dead', 'bad'),
  {
    title: 'Oldest',
    align: 'right',
    from: 90,
    cell: ({ oldestDueAt }, now) => (oldestDueAt === undefined ? NONE : brief(now - timeOf(oldestDueAt))),
  },
  {
    title: 'Policy override',
    wraps: true,
    from: 120,
    cell: ({ retry }, _, style) => (retry ? spelled(policyWords(retry), style) : NONE),
  },
]

/** Shows at a glance why jobs of a queue do not start. */
function stateCell({ paused, hasWorkers, counts }: QueueReport): Cell {
  if (paused) return { text: 'paused', tone: 'warn' }
  const isWaiting = counts.queued.value > 0 || counts.retrying.value > 0
  return hasWorkers || !isWaiting ? 'open' : { text: 'no worker', tone: 'bad' }
}

interface ListOptions extends PageOptions {
  readonly find?: string
}

export const QUEUES: Listing<QueueReport, readonly [ListOptions]> = {
  noun: 'queue',
  read: ({ queues }, { find: q, ...page }) => queues.report({ ...pageOf(page), ...present({ q }) }),
  text: FIELDS,
}

interface SetOptions extends BackendOptions {
  readonly retry?: string
  readonly reset?: true
}

export async function setQueue(name: string, options: SetOptions, io: Io): Promise<void> {
  if ((options.retry === undefined) === (options.reset === undefined)) {
    throw usage('queues set: give either --retry with a policy, or --reset to remove it')
  }
  const retry = options.retry === undefined ? null : readPolicy(options.retry, '--retry')
  await act(options, io, ({ queues }) => queues.set(name, { retry }), { text: queueLine })
}

export function queueLine({ name, paused, retry }: QueueRecord, style: Style): string {
  const policy = retry ? `policy override: ${spelled(policyWords(retry), style)}` : 'no policy override'
  return `queue ${oneLine(name)} is ${paused ? 'paused' : 'open'}; ${policy}`
}
