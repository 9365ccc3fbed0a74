import type { RedriveFilter } from '../job/filter.js'
import type { DeathReason } from '../job/job.js'

export type { RedriveFilter } from '../job/filter.js'

/**
 * Many dead jobs sent round again: a few first, then at a rate that grows to the one asked for, and no further once too
 * many fail again. Plain data that is kept in the store, so that any process can go on with it.
 */
export interface Redrive {
  readonly id: string
  /** Which dead jobs, as the store's filter says it. */
  readonly filter: RedriveFilter
  readonly perSecond: number
  readonly canary: number
  readonly stopWhenFailing: number
  /** Also those of which nobody knows whether they were carried out. */
  readonly force: boolean
  readonly state: RedriveState
  /** Why it was stopped, in words. */
  readonly why?: string
  /** How many there were when it began. */
  readonly total: { readonly value: number; readonly relation: 'exact' | 'at-least' }
  readonly tenantId?: string
  readonly createdAt: number
  readonly finishedAt?: number
  readonly cursor?: string
  /** Every job was looked at. */
  readonly isListed: boolean
  /** Since when it goes at this rate, and how many had been started by then. */
  readonly pace?: { readonly from: number; readonly started: number; readonly isSteep: boolean }
  /** What had failed when somebody let it go on all the same: only what comes after counts. */
  readonly forgiven?: { readonly failing: number; readonly succeeded: number }
  /** Left alone on purpose, by reason. */
  readonly skipped: number
  readonly conflicts: readonly RedriveConflict[]
  readonly conflictCount: number
  readonly lockedBy?: string
  readonly lockedUntil?: number
}

export type RedriveState = 'canary' | 'running' | 'paused' | 'stopped' | 'done' | 'aborted'

/** Another live job has its `unique` value. */
export interface RedriveConflict {
  readonly jobId: string
  readonly conflictId: string
}

/** What its jobs have come to. */
export interface Results {
  readonly pending: number
  readonly running: number
  readonly retrying: number
  readonly succeeded: number
  readonly dead: number
  readonly cancelled: number
}

/** Fewer results than this say nothing about the rest. */
const VOLUME_MIN = 10
/** The first seconds at a quarter and at half the rate. */
const RAMP_STEPS_MS = 1_000

export function startedOf({ pending, running, retrying, succeeded, dead, cancelled }: Results): number {
  return pending + running + retrying + succeeded + dead + cancelled
}

/** A job that failed and will be retried is failing too: nobody waits an hour to learn that nothing was mended. */
export function failingOf({ retrying, dead }: Results): number {
  return retrying + dead
}

/** Whether it must not go on, in words. */
export function stopRule(redrive: Redrive, results: Results): string | undefined {
  const { stopWhenFailing, canary, state, forgiven = { failing: 0, succeeded: 0 } } = redrive
  const failing = Math.max(0, failingOf(results) - forgiven.failing)
  const ended = failing + Math.max(0, results.succeeded - forgiven.succeeded)
  const isCanary = state === 'canary'
  const volume = isCanary ? canary : Math.max(VOLUME_MIN, canary)
  // In the canary nobody waits for the last one once the others have decided it.
  const share = failing / Math.max(volume, ended)
  if (failing === 0 || share <= stopWhenFailing) return undefined
  const percent = Math.round((100 * failing) / ended)
  return `${failing} of ${ended} failed again (${percent} %), over ${Math.round(100 * stopWhenFailing)} %${isCanary ? ', in the canary' : ''}`
}

/** Whether the canary has told what it was sent for. */
export function isCanaryOver({ canary, isListed }: Redrive, results: Results): boolean {
  const isOut = startedOf(results) >= canary || isListed
  return isOut && results.pending + results.running === 0
}

/** How many more may start now. */
export function startable(redrive: Redrive, results: Results, now: number): number {
  const started = startedOf(results)
  if (redrive.state === 'canary') return Math.max(0, redrive.canary - started)
  if (redrive.state !== 'running' || !redrive.pace) return 0
  const { from, started: before, isSteep } = redrive.pace
  return Math.max(0, Math.floor(before + allowance(redrive.perSecond, now - from, isSteep) - started))
}

/** Starts that a rate allows within so many milliseconds from its beginning; the first steps are slower unless steep. */
export function allowance(perSecond: number, ms: number, isSteep: boolean): number {
  const full = (perSecond * ms) / 1_000
  if (isSteep) return full
  if (ms <= RAMP_STEPS_MS) return full / 4
  const first = (perSecond * RAMP_STEPS_MS) / 4_000
  if (ms <= 2 * RAMP_STEPS_MS) return first + (perSecond * (ms - RAMP_STEPS_MS)) / 2_000
  return 3 * first + (perSecond * (ms - 2 * RAMP_STEPS_MS)) / 1_000
}

/** Deaths that are not undone by a bulk action unless it says so. */
export function isLeftAlone(redrive: Pick<Redrive, 'filter' | 'force'>, reason: DeathReason | undefined): boolean {
  if (reason === 'discarded') return redrive.filter.reason !== 'discarded' && !redrive.filter.ids
  return reason === 'unknown-outcome' && !redrive.force
}

export const isActive = ({ state }: Pick<Redrive, 'state'>): boolean => state === 'canary' || state === 'running'
