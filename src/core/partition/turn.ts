import { type Bounds, partitionBounds, type QueueLimits, queueBounds, type Units } from './limits.js'
import { allowedAt, type Lesson, learn, type PaceState, spend, startCost, startsNow, tidied } from './pace.js'

// Which jobs of a limited queue may start: the rule that every store applies in its claims. A store locks partitions,
// asks `roomOf` how many jobs to look at, and `takeTurns` which of them start and when to look again. How many jobs of a
// partition run is counted from the jobs themselves, so no slot can be lost or freed twice.

/** The stored facts of a partition, or of a queue with a limit of its own. */
export interface TurnState extends PaceState {
  /** From when a claim should look at it. Absent: nothing waits. `CLOSED`: not until something changes. */
  readonly openAt?: number
}

/** The `openAt` of a partition that is full or stopped: the next note opens it. */
export const CLOSED = Number.MAX_SAFE_INTEGER

/** When to look again at partitions that a claim could not use: those of other names, or locked by another claim. */
export const LOOK_AGAIN_MS = 25

/** A job waits although its time has come. */
export function isClosed({ openAt }: TurnState, now: number): boolean {
  return openAt !== undefined && openAt > now
}

/** Something happened to a job of a partition. Writers append notes without a lock; a claim applies them. */
export interface PartitionNote {
  readonly queue: string
  readonly partition: string
  /** When it happened; a note about a rate counts from then. */
  readonly at: number
  /** What a run has spent beyond its estimate; negative if a job gave something back. `''` stands for starts. */
  readonly spent?: Units
  /** When the run that has spent it was claimed. */
  readonly startedAt?: number
  readonly lesson?: Lesson
}

/** A locked partition, with what a claim knows before it looks at the waiting jobs. */
export interface LockedPartition {
  readonly name: string
  readonly running: number
  readonly state: TurnState
  readonly notes: readonly PartitionNote[]
  /** A dead letter of this partition that was not discarded; looked up if `stopsOnDead`. */
  readonly isStopped: boolean
}

export interface LockedQueue {
  readonly limits: QueueLimits
  /** Running jobs of all partitions; counted if the queue has a limit of its own. */
  readonly running: number
  readonly state: TurnState
  readonly partitions: readonly LockedPartition[]
  readonly now: number
}

/** The jobs to look at. */
export interface Room {
  readonly partition: string
  /** At most this many jobs may start. */
  readonly limit: number
  /** The oldest job that waits, whatever its time; otherwise the due jobs by priority and time. */
  readonly isOrdered: boolean
}

/** The waiting jobs of a partition that a store has found. */
export interface Waiting<J> {
  readonly partition: string
  /** In the order in which they start, at most `limit`. */
  readonly jobs: readonly Candidate<J>[]
  /** Whether more jobs are due. */
  readonly hasMore: boolean
  /** When the next job falls due; set if no more are due now and one waits. */
  readonly nextDueAt?: number
}

export interface Candidate<J> {
  readonly job: J
  readonly runAt: number
  readonly units?: Units
}

export interface Turns<J> {
  readonly jobs: readonly J[]
  /** The new states of all locked partitions. A partition without anything to remember is absent. */
  readonly states: ReadonlyMap<string, TurnState>
  readonly queueState: TurnState
}

/** How many jobs to look at in each partition, if a claim has room for `limit` jobs. */
export function roomOf(queue: LockedQueue, limit: number): readonly Room[] {
  const { limits, running, partitions, now } = queue
  const bounds = queueBounds(limits)
  const free = Math.min(limit, bounds.concurrency - running, startsNow(bounds, corrected(bounds, queue), now))
  if (free <= 0) return []
  // Every partition gets an equal share of the claim. What one leaves is for the next claim.
  const share = Math.max(1, Math.ceil(free / partitions.length))
  return partitions.flatMap(one => {
    const own = partitionBounds(limits, one.name)
    const state = noted(own, one, now)
    const room = one.isStopped ? 0 : Math.min(share, own.concurrency - one.running, startsNow(own, state, now))
    return room > 0 ? [{ partition: one.name, limit: room, isOrdered: own.isOrdered }] : []
  })
}

/** Decides which of the jobs start, and when to look at each partition again. */
export function takeTurns<J>(queue: LockedQueue, waiting: readonly Waiting<J>[], limit: number): Turns<J> {
  const { limits, partitions, now } = queue
  const bounds = queueBounds(limits)
  const found = new Map(waiting.map(one => [one.partition, one]))
  const jobs: J[] = []
  const states = new Map<string, TurnState>()
  let whole = corrected(bounds, queue)
  let refusedUntil: number | undefined
  const isFull = (): boolean => queue.running + jobs.length >= bounds.concurrency
  const mayStart = (cost: Units): boolean => {
    if (jobs.length >= limit || refusedUntil !== undefined || isFull()) return false
    const at = allowedAt(bounds, whole, cost, now)
    if (at > now) refusedUntil = at
    return at <= now
  }
  for (const one of partitions) {
    const own = partitionBounds(limits, one.name)
    const turn = new PartitionTurn<J>(own, one, found.get(one.name), now)
    for (const candidate of turn.candidates) {
      const cost = startCost(candidate.units)
      if (!turn.allows(candidate, cost) || !mayStart(cost)) break
      turn.start(cost)
      whole = spend(bounds, whole, cost, now)
      jobs.push(candidate.job)
    }
    const next = turn.end()
    if (next) states.set(one.name, next)
  }
  const openAt = isFull() ? CLOSED : (refusedUntil ?? allowedAt(bounds, whole, startCost(), now))
  return { jobs, states, queueState: { ...tidied(whole, now), openAt } }
}

class PartitionTurn<J> {
  readonly #bounds: Bounds
  readonly #partition: LockedPartition
  readonly #waiting: Waiting<J> | undefined
  readonly #now: number
  #state: PaceState
  #started = 0
  /** When the first job that did not start may start. */
  #refusedUntil: number | undefined

  constructor(bounds: Bounds, partition: LockedPartition, waiting: Waiting<J> | undefined, now: number) {
    this.#bounds = bounds
    this.#partition = partition
    this.#waiting = waiting
    this.#now = now
    this.#state = noted(bounds, partition, now)
  }

  get candidates(): readonly Candidate<J>[] {
    return this.#waiting?.jobs ?? []
  }

  allows({ runAt }: Candidate<J>, cost: Units): boolean {
    const at = Math.max(runAt, allowedAt(this.#bounds, this.#state, cost, this.#now))
    if (at > this.#now) this.#refusedUntil = at
    return at <= this.#now
  }

  start(cost: Units): void {
    this.#state = spend(this.#bounds, this.#state, cost, this.#now)
    this.#started += 1
  }

  /** The state to store; undefined if there is nothing to remember. */
  end(): TurnState | undefined {
    const state = tidied(this.#state, this.#now)
    const openAt = this.#openAt()
    if (openAt === undefined) return Object.keys(state).length === 0 ? undefined : state
    return { ...state, openAt }
  }

  #openAt(): number | undefined {
    const { running, isStopped } = this.#partition
    const waiting = this.#waiting
    const isLeft = waiting && (waiting.hasMore || this.#started < waiting.jobs.length)
    // Nothing waits, so a full partition needs no look when a run ends.
    if (waiting && !isLeft && waiting.nextDueAt === undefined) return undefined
    const isFull = running + this.#started >= this.#bounds.concurrency
    if (isStopped || isFull) return CLOSED
    if (this.#refusedUntil !== undefined) return this.#refusedUntil
    // Without `waiting` it was not looked at, because the queue or its own rate has no room.
    if (isLeft || !waiting) {
      const { openAt = this.#now } = this.#partition.state
      const at = allowedAt(this.#bounds, this.#state, startCost(), this.#now)
      // It keeps its place in the line until one of its jobs has started.
      return at <= this.#now && this.#started === 0 ? Math.min(openAt, this.#now) : at
    }
    return waiting.nextDueAt
  }
}

/** The rates of a queue after what the runs of its partitions have spent or given back. They teach the queue nothing. */
function corrected(bounds: Bounds, { state, partitions, now }: LockedQueue): PaceState {
  let next: PaceState = state
  for (const { notes } of partitions) {
    for (const { at, spent, startedAt = 0 } of notes)
      if (spent) next = spend(bounds, next, spent, Math.min(at, now), startedAt)
  }
  return next
}

/** The state of a partition after its notes. */
function noted(bounds: Bounds, { state, notes }: LockedPartition, now: number): PaceState {
  let next: PaceState = state
  for (const note of notes) {
    const at = Math.min(note.at, now)
    if (note.spent) next = spend(bounds, next, note.spent, at, note.startedAt ?? 0)
    if (note.lesson) next = learn(bounds, next, note.lesson, at)
  }
  const { openAt: _, ...paces } = next as TurnState
  return paces
}
