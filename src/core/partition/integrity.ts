import { formatMs } from '../values/duration.js'
import { type Bounds, partitionBounds, type QueueLimits, queueBounds, STARTS } from './limits.js'
import { mostAheadMs, paidOffAt } from './pace.js'
import { CLOSED, type TurnState } from './turn.js'
import { partitionWords } from './wait.js'

// What an integrity check says about limits: too many running jobs, jobs that no claim will look at, impossible clocks.

/** The limits of a queue with what is stored about its partitions, at one moment. */
export interface QueueTurns {
  readonly queue: string
  readonly limits: QueueLimits
  readonly state: TurnState
  /** Whether a note is left for the next claim of the queue, which looks at the queue again. */
  readonly isNoted: boolean
  readonly running: number
  /** The running job that started last. */
  readonly newest?: StartedJob
}

/** One partition of it. */
export interface PartitionTurns {
  readonly name: string
  /** Empty if nothing is stored about the partition. */
  readonly state: TurnState
  /** Whether a note is left, which the next claim applies. */
  readonly isNoted: boolean
  readonly isStopped: boolean
  readonly running: number
  readonly newest?: StartedJob
  /** The waiting job that comes first: the oldest one of an ordered partition, otherwise the one that is due first. */
  readonly first?: WaitingJob
}

export interface StartedJob {
  readonly id: string
  readonly startedAt: number
}

export interface WaitingJob {
  readonly id: string
  readonly runAt: number
}

export const LIMIT_FLAWS = [
  /** more jobs run than the limit allowed when the last of them started */
  'over-limit',
  /** no claim will look at the job, or only long after it may start */
  'stranded',
  /** a rate has spent more than it can have; the id is that of the partition */
  'rate-clock',
] as const

export interface LimitFlaw {
  readonly jobId: string
  readonly what: (typeof LIMIT_FLAWS)[number]
  readonly detail: string
}

/** A claim that was under way when limits were set may still have applied the limits before. */
const IN_FORCE_AFTER_MS = 60_000
/** Times of claims are rounded up to whole milliseconds, and the learned share of a rate grows while jobs wait. */
const TOLERANCE_MS = 1_000

export function queueFlaws({ queue, limits, running, newest, state }: QueueTurns, now: number): readonly LimitFlaw[] {
  const name = `queue ${JSON.stringify(queue)}`
  const bounds = queueBounds(limits)
  return [
    ...overLimit(name, bounds.concurrency, running, newest, limits),
    ...impossibleClock(queue, name, bounds, state, limits, now),
  ]
}

export function partitionFlaws(whole: QueueTurns, partition: PartitionTurns, now: number): readonly LimitFlaw[] {
  const { queue, limits } = whole
  const { name, running, newest, state, first } = partition
  const bounds = partitionBounds(limits, name)
  const words = `${partitionWords(name)} of queue ${JSON.stringify(queue)}`
  const stranded = first && strandedWords(whole, partition, bounds, now)
  return [
    ...overLimit(words, bounds.concurrency, running, newest, limits),
    ...(stranded === undefined
      ? []
      : [{ jobId: first!.id, what: 'stranded' as const, detail: `${words} ${stranded}` }]),
    ...impossibleClock(`${queue}/${name}`, words, bounds, state, limits, now),
  ]
}

/** Jobs end one by one, so there are at most as many as when the last one started, which its claim had counted. */
function overLimit(
  name: string,
  concurrency: number,
  running: number,
  newest: StartedJob | undefined,
  { since }: QueueLimits,
): readonly LimitFlaw[] {
  if (running <= concurrency || !newest || since === undefined || newest.startedAt < since + IN_FORCE_AFTER_MS)
    return []
  const detail = `${name} runs ${running} jobs, but its limit was ${concurrency} when this job started`
  return [{ jobId: newest.id, what: 'over-limit', detail }]
}

function strandedWords(
  whole: QueueTurns,
  { state, isNoted, isStopped, running, first }: PartitionTurns,
  bounds: Bounds,
  now: number,
): string | undefined {
  if (isNoted) return undefined
  const { openAt } = state
  if (openAt === undefined) return 'has waiting jobs, but no claim looks at it'
  if (openAt === CLOSED) {
    const isRight = isStopped || running >= bounds.concurrency
    return isRight ? undefined : `is closed, although ${running} of ${bounds.concurrency} slots are in use`
  }
  const dueAt = Math.max(now, first!.runAt)
  if (openAt > Math.max(dueAt, paidOffAt(state)) + TOLERANCE_MS)
    return `opens in ${formatMs(openAt - now)}, although its first job is due ${dueAt > now ? `in ${formatMs(dueAt - now)}` : 'now'}`
  return queueStrandedWords(whole, now)
}

function queueStrandedWords({ limits, state, running, isNoted }: QueueTurns, now: number): string | undefined {
  const { openAt = now } = state
  const { concurrency } = queueBounds(limits)
  if (isNoted || openAt <= Math.max(now, paidOffAt(state)) + TOLERANCE_MS) return undefined
  if (openAt !== CLOSED) return `waits for its queue, which opens only in ${formatMs(openAt - now)}`
  return running >= concurrency
    ? undefined
    : `waits for its queue, which is closed, although ${running} of ${concurrency} slots are in use`
}

/** Every start costs one, and none is allowed that would bring the clock further ahead than a burst at the slowest rate. */
function impossibleClock(
  id: string,
  name: string,
  { rates, learns }: Bounds,
  state: TurnState,
  { since }: QueueLimits,
  now: number,
): readonly LimitFlaw[] {
  const pace = rates[STARTS]
  const clock = state.clocks?.[STARTS]
  const busySince = state.busySince?.[STARTS]
  // What was spent at the rate of earlier limits may take longer.
  const isOwn = since !== undefined && busySince !== undefined && busySince >= since + IN_FORCE_AFTER_MS
  if (!pace || clock === undefined || !isOwn) return []
  if (clock <= now + mostAheadMs(pace, learns) + TOLERANCE_MS) return []
  const detail = `the rate of ${name} is used up for ${formatMs(clock - now)}, longer than a burst of ${pace.burst} can take`
  return [{ jobId: id, what: 'rate-clock', detail }]
}
