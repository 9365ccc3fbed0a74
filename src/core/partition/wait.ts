import type { BlockCode } from '../job/job.js'
import { moment } from '../job/moment.js'
import { deliveryWords } from '../webhook/delivery.js'
import { type Bounds, partitionBounds, type QueueLimits, queueBounds, STARTS, type Units } from './limits.js'
import { allowedAt, learnedShare, startCost } from './pace.js'
import { CLOSED, isClosed, type TurnState } from './turn.js'

// Why a job of a queue with limits waits although its time has come, and when that may change.

/** The limits of its queue, and the partition that it waits in. */
export interface TurnFacts {
  readonly queue: string
  readonly limits: QueueLimits
  readonly queueState: TurnState
  readonly partition: PartitionFacts
}

export interface PartitionFacts {
  readonly name: string
  readonly running: number
  readonly state: TurnState
  /** How many jobs wait in it, if that is known exactly. */
  readonly waiting?: number
  /** The dead letter that stops it. */
  readonly stoppedBy?: string
}

export interface TurnWait {
  readonly because: Extract<BlockCode, 'limit' | 'rate' | 'order' | 'stopped'>
  readonly words: string
  /** When the next job may start, if that is known. */
  readonly until?: number
}

/** What a due job waits for; undefined if no limit keeps it waiting. */
export function turnWait(facts: TurnFacts, units: Units | undefined, now: number): TurnWait | undefined {
  const { queueState, partition } = facts
  const isQueueClosed = isClosed(queueState, now)
  const isOwnClosed = isClosed(partition.state, now) && !isFreed(facts)
  if (!isQueueClosed && !isOwnClosed) return undefined
  const isQueueLater = isQueueClosed && (!isOwnClosed || queueState.openAt! > partition.state.openAt!)
  if (isQueueLater && partition.stoppedBy === undefined) return queueWait(facts, now)
  return partitionWait(facts, units, now)
}

/** What keeps due jobs of a partition waiting; undefined if its jobs wait for nothing but their own time. */
export function partitionHold(facts: Omit<TurnFacts, 'queueState'>, now: number): TurnWait | undefined {
  const wait = turnWait({ ...facts, queueState: {} }, undefined, now)
  if (wait?.until === undefined || wait.because === 'rate') return wait
  // Without a rate, the time is that of the next job, which keeps only the later ones of an ordered partition waiting.
  return wait.because === 'order' && facts.partition.waiting !== 1 ? wait : undefined
}

/** A run has ended since the last claim looked at the partition, so the next claim starts one of its jobs. */
function isFreed({ limits, partition: { name, running, state, stoppedBy } }: TurnFacts): boolean {
  return state.openAt === CLOSED && stoppedBy === undefined && running < partitionBounds(limits, name).concurrency
}

function queueWait({ queue, limits, queueState }: TurnFacts, now: number): TurnWait {
  const { concurrency } = queueBounds(limits)
  const name = `its queue "${queue}"`
  if (queueState.openAt === CLOSED) return { because: 'limit', words: fullWords(name, concurrency) }
  return rateWait(`the rate of ${name}`, queueState.openAt!, now)
}

function partitionWait({ queue, limits, partition }: TurnFacts, units: Units | undefined, now: number): TurnWait {
  const { name, running, state, stoppedBy, waiting } = partition
  const bounds = partitionBounds(limits, name)
  const own = `its ${deliveryWords(queue, name) ?? partitionWords(name)}`
  if (stoppedBy !== undefined) {
    const words = `${own} is stopped by dead letter ${stoppedBy}; redrive or discard it`
    return { because: 'stopped', words }
  }
  const openAt = state.openAt!
  if (openAt === CLOSED) {
    if (bounds.isOrdered) return { because: 'order', words: `an earlier job of ${own} runs, and they run one by one` }
    return { because: 'limit', words: fullWords(own, Math.min(bounds.concurrency, Math.max(1, running))) }
  }
  if (isHeldByRate(bounds, partition, units, now))
    return rateWait(`the rate of ${own}${learnedWords(bounds, state, now)}`, openAt, now, waiting === 1)
  if (!bounds.isOrdered) return { because: 'limit', words: `it waits for the next turn of ${own}`, until: openAt }
  return { because: 'order', words: `an earlier job of ${own} comes first, ${moment(openAt, now)}`, until: openAt }
}

/**
 * A partition that opens later than its rate allows waits for the time of its next job. That is certain only without units,
 * of which the next job may need more, and at the rate that was configured, because a learned one grows.
 */
function isHeldByRate(bounds: Bounds, { state }: PartitionFacts, units: Units | undefined, now: number): boolean {
  const allowed = allowedAt(bounds, state, startCost(units), now)
  const isCertain = Object.keys(bounds.rates).every(each => each === STARTS) && learnedShare(state, now) >= 1
  return allowed > now && !(isCertain && state.openAt! > allowed)
}

function fullWords(name: string, concurrency: number): string {
  const many = Number.isFinite(concurrency) ? `${concurrency} ${concurrency === 1 ? 'job' : 'jobs'}, ` : ''
  return `${name} runs ${many}as many as its limit allows`
}

function rateWait(name: string, until: number, now: number, isNext = false): TurnWait {
  const who = isNext ? 'it' : 'the next job'
  return { because: 'rate', words: `${name} is used up; ${who} may start ${moment(until, now)}`, until }
}

/** What responses have taught, if it counts now. */
function learnedWords(bounds: Bounds, state: TurnState, now: number): string {
  const share = learnedShare(state, now)
  if (!bounds.rates[STARTS] || share >= 1) return ''
  return ` (lowered to ${Math.max(1, Math.round(100 * share))} % by responses)`
}

export const partitionWords = (name: string): string =>
  name === '' ? 'partition without a name' : `partition ${JSON.stringify(name)}`
