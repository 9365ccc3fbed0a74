import { deadBulkOptions } from '../job/bulk.js'
import { type RedriveFilter, redriveFilter } from '../job/filter.js'
import type { DeathReason } from '../job/job.js'
import { type Count, count } from '../values/count.js'
import { countText } from '../values/number.js'
import { rate } from '../values/rate.js'
import { about, anyText, boolean, type Infer, integer, literal, named, number, oneOf } from '../values/schema.js'
import { listOf, object, view } from '../values/shape.js'
import { time, timestamp } from '../values/time.js'

export type { RedriveFilter } from '../job/filter.js'

/** The rate of a redrive and its safeguards. */
const safeguards = {
  rate: about(rate, 'Starts per second, minute or hour: 20/s, 600/m, 5000/h. Default 10/s.', { example: '20/s' }),
  canary: about(
    integer(0, 10_000),
    'How many jobs run first, while the others wait for their outcome. Default: a tenth of the jobs, at most 10; 0: no canary.',
    { label: 'Canary' },
  ),
  stopWhenFailing: about(number(0, 1), 'The redrive stops when this share of jobs fails again. Default 0.2.', {
    label: 'Stop when failing',
    hint: 'Percentage of jobs that fail again',
  }),
  force: about(boolean, 'Include jobs with unknown outcome, which may run twice.', {
    label: 'Include jobs with unknown outcome',
  }),
}

const CANARY_MAX = 10

/** A tenth of the jobs, so that a canary of few jobs is not all of them. */
export function canaryOf(total: number): number {
  return Math.min(CANARY_MAX, Math.ceil(total / 10))
}

export const redriveOptions = object({}, { ...safeguards, ...deadBulkOptions.optional })

/** Redrives the deliveries of a webhook endpoint. */
export const recoverOptions = named(
  'RecoverRequest',
  object(
    {
      since: about(time, 'Redrive deliveries of messages from this time on.', {
        label: 'Since',
        hint: 'Local time',
      }),
    },
    safeguards,
  ),
)

export type RedriveOptions = Infer<typeof redriveOptions>
export type RecoverOptions = Infer<typeof recoverOptions>

/**
 * Redrives many dead jobs: a few first, then at a rate that grows to the requested one, and stops once too many fail
 * again. Plain data in the store, so that any process can continue it.
 */
export interface Redrive {
  readonly id: string
  /** Which dead jobs, as a filter of the store. */
  readonly filter: RedriveFilter
  readonly perSecond: number
  readonly canary: number
  readonly stopWhenFailing: number
  /** Include jobs with unknown outcome. */
  readonly force: boolean
  readonly state: RedriveState
  /** Why it was stopped, in words. */
  readonly why?: string
  /** The number of matching jobs when it began. */
  readonly total: Count
  readonly tenantId?: string
  readonly createdAt: number
  readonly finishedAt?: number
  readonly cursor?: string
  /** Every job was examined. */
  readonly isListed: boolean
  /** Since when it has had this rate, and how many jobs had been started by then. */
  readonly pace?: { readonly from: number; readonly started: number; readonly isSteep: boolean }
  /** The number of failures when an operator resumed it: only later ones count. */
  readonly forgiven?: { readonly failing: number; readonly succeeded: number }
  /** Jobs that were skipped on purpose, by reason. */
  readonly skipped: number
  readonly conflicts: readonly RedriveConflict[]
  readonly conflictCount: number
  readonly lockedBy?: string
  readonly lockedUntil?: number
}

export const REDRIVE_STATES = ['canary', 'running', 'paused', 'stopped', 'done', 'aborted'] as const
export type RedriveState = (typeof REDRIVE_STATES)[number]

/** Another live job has its `unique` value. */
const redriveConflict = view({ jobId: anyText, conflictId: anyText })
export type RedriveConflict = Infer<typeof redriveConflict>

/** The results of its jobs so far. */
const results = view({
  pending: integer(),
  running: integer(),
  retrying: integer(),
  succeeded: integer(),
  dead: integer(),
  cancelled: integer(),
})
export type Results = Infer<typeof results>

/** A redrive as users see it, the same in TypeScript, REST and `--json`. */
export const redriveView = named(
  'Redrive',
  view(
    {
      id: anyText,
      state: oneOf(REDRIVE_STATES),
      filter: redriveFilter,
      rate: anyText,
      canary: integer(),
      stopWhenFailing: number(0, 1),
      total: count,
      started: integer(),
      succeeded: integer(),
      failing: about(integer(), 'Jobs that died again or wait for a retry.'),
      results,
      skipped: about(integer(), 'Jobs that were discarded, or have an unknown outcome and no `force`.'),
      conflicts: listOf(redriveConflict),
      conflictCount: integer(),
      createdAt: timestamp,
    },
    { why: about(anyText, 'Why the redrive was stopped.'), tenantId: anyText, finishedAt: timestamp },
  ),
)
export type RedriveView = Infer<typeof redriveView>

export const dryRunView = named(
  'RedriveDryRun',
  view({
    dryRun: literal(true),
    count: about(count, 'The number of jobs that would be redriven.'),
    skipped: integer(),
  }),
)
export type DryRun = Infer<typeof dryRunView>

/** With fewer results than this, the failure rate says nothing about the rest. */
const VOLUME_MIN = 10
/** The first seconds run at a quarter and at half the rate. */
const RAMP_STEPS_MS = 1_000

export function startedOf({ pending, running, retrying, succeeded, dead, cancelled }: Results): number {
  return pending + running + retrying + succeeded + dead + cancelled
}

/**
 * A job that failed and will be retried counts as failing, so that a redrive without a fix is noticed before the
 * retries end.
 */
export function failingOf({ retrying, dead }: Results): number {
  return retrying + dead
}

/** Why it must stop, in words; undefined if it may continue. */
export function stopRule(redrive: Redrive, results: Results): string | undefined {
  const { stopWhenFailing, canary, state, forgiven = { failing: 0, succeeded: 0 } } = redrive
  const failing = Math.max(0, failingOf(results) - forgiven.failing)
  const ended = failing + Math.max(0, results.succeeded - forgiven.succeeded)
  const isCanary = state === 'canary'
  const volume = isCanary ? canary : Math.max(VOLUME_MIN, canary)
  // The canary need not wait for the last job once the others have decided it.
  const share = failing / Math.max(volume, ended)
  if (failing === 0 || share <= stopWhenFailing) return undefined
  const percent = Math.round((100 * failing) / ended)
  return `${countText(failing)} of ${countText(ended)} failed again (${percent} %), over ${Math.round(100 * stopWhenFailing)} %${isCanary ? ', in the canary' : ''}`
}

/** Whether the canary has enough results. */
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

/** The number of starts that a rate allows in this many milliseconds; the first steps are slower unless it is steep. */
export function allowance(perSecond: number, ms: number, isSteep: boolean): number {
  const full = (perSecond * ms) / 1_000
  if (isSteep) return full
  if (ms <= RAMP_STEPS_MS) return full / 4
  const first = (perSecond * RAMP_STEPS_MS) / 4_000
  if (ms <= 2 * RAMP_STEPS_MS) return first + (perSecond * (ms - RAMP_STEPS_MS)) / 2_000
  return 3 * first + (perSecond * (ms - 2 * RAMP_STEPS_MS)) / 1_000
}

/** Reasons of death that a bulk action skips by default. */
export function isLeftAlone(redrive: Pick<Redrive, 'filter' | 'force'>, reason: DeathReason | undefined): boolean {
  if (reason === 'discarded') return redrive.filter.reason !== 'discarded' && !redrive.filter.ids
  return reason === 'unknown-outcome' && !redrive.force
}

export const isActive = ({ state }: Pick<Redrive, 'state'>): boolean => state === 'canary' || state === 'running'
