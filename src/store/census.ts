import type { Count } from './store.js'

// How jobs are spread over queues, phases and the time to come, without looking at all of them.

export interface BacklogRequest {
  /** Dead letters with this tag are not counted. */
  readonly exceptTag: string
  /** How many of the newest dead jobs are looked at. */
  readonly deadMax: number
}

export interface Backlog {
  readonly queue: string
  /** Since when its oldest due job waits … */
  readonly dueAt?: number
  /** … and the oldest that has run before, among the first `BACKLOG_DUE_MAX` due ones of each priority. */
  readonly retryDueAt?: number
  /** Dead letters that are neither acknowledged nor discarded, and when the oldest of them died. */
  readonly dead: number
  readonly deadSince?: number
}

export interface CensusRequest {
  /** Only this queue; by default all. */
  readonly queue?: string
  /** How far each is counted. */
  readonly cap: number
}

/**
 * The jobs of a queue by phase. Of the waiting ones the first of each priority are looked at, of those that are due and
 * of those that are not, up to `lineCap`; of the dead and the running ones twice `cap` in all queues together.
 */
export interface QueueCensus {
  readonly queue: string
  readonly scheduled: Count
  readonly queued: Count
  readonly retrying: Count
  readonly running: Count
  readonly dead: Count
}

export interface WaveRequest {
  readonly queue?: string
  /** From the store's now on. */
  readonly windowMs: number
  readonly buckets: number
  /** So many jobs are looked at. */
  readonly lookAt: number
}

/** Waiting jobs by when they fall due. */
export interface Wave {
  readonly from: number
  /** Jobs in each part of the window that have run before … */
  readonly retrying: readonly number[]
  /** … and those that have not. */
  readonly scheduled: readonly number[]
  /** Those that have run before and are due already. */
  readonly due: number
  /** Those whose time comes after the window, both kinds. */
  readonly beyond: Count
  /** Whether all were looked at. */
  readonly complete: boolean
}

const LINES_LOOK_AT = 20_000
const LINE_LOOK_AT_MIN = 1_000

/** How many jobs of each line are looked at: where there are many queues, fewer of each. */
export function lineCap(cap: number, queues: number): number {
  return Math.min(cap, Math.max(LINE_LOOK_AT_MIN, Math.floor(LINES_LOOK_AT / Math.max(1, queues))))
}

/** What was found of one queue and phase, in the making. */
export interface Found {
  value: number
  isCut: boolean
}

export const nothing = (): Found => ({ value: 0, isCut: false })

export function countOf({ value, isCut }: Found, cap: number): Count {
  return value > cap ? { value: cap, relation: 'at-least' } : { value, relation: isCut ? 'at-least' : 'exact' }
}

export const WAITING_PHASES = ['scheduled', 'queued', 'retrying'] as const
export type WaitingPhase = (typeof WAITING_PHASES)[number]

export interface CensusDraft extends Record<WaitingPhase | 'running' | 'dead', Found> {
  readonly queue: string
}

export function censusDraft(queue: string): CensusDraft {
  return {
    queue,
    scheduled: nothing(),
    queued: nothing(),
    retrying: nothing(),
    running: nothing(),
    dead: nothing(),
  }
}

/** Looked at of one line: so many that are due, or not, and so many of them that have run before. */
export function addLine(draft: CensusDraft, isDue: boolean, looked: number, again: number, cap: number): void {
  const phase = isDue ? 'queued' : 'scheduled'
  draft[phase].value += looked - again
  draft.retrying.value += again
  if (looked <= cap) return
  draft[phase].isCut = true
  draft.retrying.isCut = true
}

export function censusOf({ queue, ...found }: CensusDraft, cap: number): QueueCensus {
  return {
    queue,
    scheduled: countOf(found.scheduled, cap),
    queued: countOf(found.queued, cap),
    retrying: countOf(found.retrying, cap),
    running: countOf(found.running, cap),
    dead: countOf(found.dead, cap),
  }
}
