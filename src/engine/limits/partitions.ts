import { timeText } from '../../core/job/view.js'
import {
  type Limit,
  limit,
  type PartitionLimits,
  partitionBounds,
  partitionLimits,
  type QueueLimits,
  STARTS,
} from '../../core/partition/limits.js'
import { learnedShare } from '../../core/partition/pace.js'
import { CLOSED, isClosed, type TurnState } from '../../core/partition/turn.js'
import { partitionHold } from '../../core/partition/wait.js'
import { count } from '../../core/values/count.js'
import { present } from '../../core/values/present.js'
import { formatRate } from '../../core/values/rate.js'
import { about, anyText, boolean, type Infer, integer, named, oneOf, read } from '../../core/values/schema.js'
import { object, view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import type { PartitionRecord, QueueRecord, Store } from '../../store/store.js'
import { type List, listOf, PAGE_DEFAULT, paging } from '../jobs/query.js'
import { checkSupport } from './declared.js'

/** The limits of a queue as the API shows them. */
export const limitsView = named(
  'QueueLimits',
  view(
    { from: about(oneOf(['code', 'operator']), 'Who set them; those of an operator take precedence.') },
    {
      limit: about(limit, 'Limits of the whole queue.'),
      partitions: about(partitionLimits, 'Limits of each partition.'),
      code: about(
        view({}, { limit, partitions: partitionLimits }),
        'What the code says, which applies again when an operator removes the others.',
      ),
    },
  ),
)

export function viewLimits({ since: _, ...limits }: QueueLimits): Infer<typeof limitsView> {
  return limits
}

/** A partition as the API shows it. */
export const partitionView = named(
  'Partition',
  view(
    {
      name: about(anyText, 'Empty: the jobs without a partition and a tenant.'),
      running: integer(),
      waiting: about(count, 'Up to 1,000.'),
    },
    {
      limit: about(limit, 'The limits that apply to it, with its override.'),
      override: about(boolean, 'true: it has limits of its own.'),
      learnedRate: about(anyText, 'The rate that counts now, because responses have lowered it.'),
      blockedBy: about(oneOf(['limit', 'rate', 'order', 'stopped']), 'Why its due jobs wait.'),
      words: about(anyText, 'The same in words.'),
      openAt: about(timestamp, 'When its next job may start, if that is known and not now.'),
      stoppedBy: about(anyText, 'The dead letter that stops it.'),
    },
  ),
)
export type PartitionView = Infer<typeof partitionView>

export const partitionQuery = object(
  {},
  {
    which: about(oneOf(['all', 'stopped']), '`stopped`: only those that a dead letter stops. Default `all`.'),
    ...paging,
  },
)
export type PartitionsQuery = Infer<typeof partitionQuery>

const WAITING_CAP = 1_000

/** A page of the partitions of a queue that have jobs, or a rate to remember, by name. */
export async function readPartitions(
  store: Store,
  queue: QueueRecord,
  asked: PartitionsQuery,
): Promise<List<PartitionView>> {
  const { which = 'all', limit: size = PAGE_DEFAULT, cursor } = read(partitionQuery, asked, 'queues.partitions:')
  checkSupport(store, 'queues.partitions')
  const after = cursor === undefined ? {} : { after: cursor.slice(1) }
  const page = { cap: WAITING_CAP, limit: size + 1, which, ...after }
  const [found, { now }] = await Promise.all([store.partitions!(queue.name, page), store.info()])
  const shown = found.slice(0, size)
  const next = found.length > size ? `=${shown.at(-1)!.name}` : undefined
  return listOf(
    shown.map(record => viewPartition(record, queue, now)),
    next,
  )
}

function viewPartition(record: PartitionRecord, queue: QueueRecord, now: number): PartitionView {
  const { name, running, waiting, state, stoppedBy } = record
  const limits = queue.limits ?? { from: 'code' }
  const count = waiting.relation === 'exact' ? waiting.value : undefined
  const partition = present({ name, running, state, waiting: count, stoppedBy })
  // A queue that is closed as a whole is shown as such; here each partition speaks for itself.
  const wait = partitionHold({ queue: queue.name, limits, partition }, now)
  const isWaiting = waiting.value > 0 || stoppedBy !== undefined
  return present({
    name,
    running,
    waiting,
    limit: limitOf(limits.partitions, name),
    ...(isOverridden(limits.partitions, name) && { override: true }),
    learnedRate: learnedRate(limits, record, now),
    blockedBy: isWaiting ? wait?.because : undefined,
    words: isWaiting ? wait?.words : undefined,
    openAt: opensAt(state, now),
    stoppedBy,
  })
}

/** When the next job may start, if that is known and not now. */
export function opensAt(state: TurnState, now: number): string | undefined {
  return isClosed(state, now) && state.openAt !== CLOSED ? timeText(state.openAt) : undefined
}

const isOverridden = (partitions: PartitionLimits | undefined, name: string): boolean =>
  partitions?.override !== undefined && Object.hasOwn(partitions.override, name)

function limitOf(partitions: PartitionLimits | undefined, name: string): Limit | undefined {
  if (!partitions) return undefined
  const { concurrency, rate, burst, units, order, override } = partitions
  const common = present({ concurrency: order === 'fifo' ? 1 : concurrency, rate, burst, units })
  const all = isOverridden(partitions, name) ? { ...common, ...override![name] } : common
  return Object.keys(all).length === 0 ? undefined : all
}

function learnedRate(limits: QueueLimits, { name, state }: PartitionRecord, now: number): string | undefined {
  const pace = partitionBounds(limits, name).rates[STARTS]
  const share = learnedShare(state, now)
  return pace && share < 1 ? formatRate(pace.perMs * 1_000 * share) : undefined
}
