import type { WaitingPhase } from '../../core/job/job.js'
import type { Count } from '../store.js'

// Counts of jobs by queue, phase and due time, computed without reading every job.

export interface BacklogRequest {
  /** Dead letters with this tag are not counted. */
  readonly exceptTag: string
  /** The maximum number of newest dead jobs to read. */
  readonly deadMax: number
}

export interface Backlog {
  readonly queue: string
  /**
   * The due time of the oldest job that is due and that no limit of its queue keeps waiting. In queues with
   * limits, only the first `BACKLOG_DUE_MAX` due jobs of each priority are read.
   */
  readonly dueAt?: number
  /**
   * The due time of the oldest due job that has already run, among the first `BACKLOG_DUE_MAX` due jobs of each
   * priority.
   */
  readonly retryDueAt?: number
  /**
   * The number of dead letters that are neither acknowledged nor discarded. `deadSince` is when the oldest of them
   * died.
   */
  readonly dead: number
  readonly deadSince?: number
}

export interface CensusRequest {
  /** The queues to count; all queues by default. */
  readonly queues?: readonly string[]
  /** The maximum of each count. */
  readonly cap: number
}

/**
 * The jobs of a queue by phase. For waiting jobs, the store reads at most `lineCap` due jobs and `lineCap` later jobs
 * of each priority. For dead and running jobs, it reads at least twice `cap` over all queues.
 */
export interface QueueCensus {
  readonly queue: string
  readonly scheduled: Count
  readonly queued: Count
  readonly retrying: Count
  /** Jobs that their dependency holds back, due jobs that a limit keeps waiting, and due jobs of a paused queue. */
  readonly blocked: Count
  readonly running: Count
  readonly dead: Count
}

export interface WaveRequest {
  readonly queue?: string
  /** The length of the window, which starts now on the store's clock. */
  readonly windowMs: number
  readonly buckets: number
  /** The maximum number of jobs to read. */
  readonly lookAt: number
}

/** Waiting jobs by due time. */
export interface Wave {
  readonly from: number
  /** Jobs in each part of the window that have already run. */
  readonly retrying: readonly number[]
  /** Jobs in each part of the window that have not run yet. */
  readonly scheduled: readonly number[]
  /** Jobs in each part of the window that their dependency holds back, whether they have run or not. */
  readonly blocked: readonly number[]
  /** Jobs that have already run and are due now. */
  readonly due: number
  /** Jobs that fall due after the window, whether they have run or not. */
  readonly beyond: Count
  /** Whether every matching job was read: there were no more than `lookAt`, in no more than `LINES_MAX` queues and priorities. */
  readonly complete: boolean
}

/**
 * The maximum number of queues and priorities with waiting jobs that a `wave` or a forecast looks at, in the order of
 * their names.
 */
export const LINES_MAX = 5_000

const LINES_LOOK_AT = 20_000
const LINE_LOOK_AT_MIN = 1_000

/**
 * The maximum number of jobs to read for each queue and priority. It gets smaller as the number of queues grows. A store
 * that counts in an index alone may give a larger number of jobs to look at in all.
 */
export function lineCap(cap: number, queues: number, lookAt = LINES_LOOK_AT): number {
  return Math.min(cap, Math.max(LINE_LOOK_AT_MIN, Math.floor(lookAt / Math.max(1, queues))))
}

/** The counts for one queue and phase while they are being collected. */
export interface Found {
  value: number
  isCut: boolean
}

export const nothing = (): Found => ({ value: 0, isCut: false })

export function countOf({ value, isCut }: Found, cap: number): Count {
  return value > cap ? { value: cap, relation: 'at-least' } : { value, relation: isCut ? 'at-least' : 'exact' }
}

export interface CensusDraft extends Record<WaitingPhase | 'running' | 'dead', Found> {
  readonly queue: string
  readonly isPaused: boolean
}

export function censusDraft({ name, paused }: { readonly name: string; readonly paused: boolean }): CensusDraft {
  return {
    queue: name,
    isPaused: paused,
    scheduled: nothing(),
    queued: nothing(),
    retrying: nothing(),
    blocked: nothing(),
    running: nothing(),
    dead: nothing(),
  }
}

/** The due or later jobs of one queue and priority, as far as they were read. */
export interface CensusLine {
  readonly isDue: boolean
  readonly looked: number
  /** Jobs that have already run and are not held back. */
  readonly again: number
  /** Jobs that are held back: later ones with a pass, due ones that a limit keeps waiting. They are not in `again`. */
  readonly held: number
}

export function addLine(draft: CensusDraft, { isDue, looked, again, held }: CensusLine, cap: number): void {
  const isCut = looked > cap
  const add = (phase: WaitingPhase, value: number): void => {
    draft[phase].value += value
    draft[phase].isCut ||= isCut
  }
  if (isDue && draft.isPaused) {
    add('blocked', looked)
    return
  }
  add(isDue ? 'queued' : 'scheduled', looked - again - held)
  add('retrying', again)
  add('blocked', held)
}

export function censusOf({ queue, isPaused: _, ...found }: CensusDraft, cap: number): QueueCensus {
  return {
    queue,
    scheduled: countOf(found.scheduled, cap),
    queued: countOf(found.queued, cap),
    retrying: countOf(found.retrying, cap),
    blocked: countOf(found.blocked, cap),
    running: countOf(found.running, cap),
    dead: countOf(found.dead, cap),
  }
}
