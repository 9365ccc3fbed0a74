import { addPairs, type Histogram, type HistogramPairs, observe, pairsOf } from '../core/values/histogram.js'

/**
 * Histograms of the run time, and of the wait from the time at which a job was due to the start of its run. Empty ones
 * are absent.
 */
export interface Timings {
  readonly run?: HistogramPairs
  readonly wait?: HistogramPairs
  /** The runs that took longest, in milliseconds, and the runs with the highest attempts, beginning with the second. */
  readonly slowest?: readonly TopJob[]
  readonly retried?: readonly TopJob[]
}

export type TopJob = readonly [value: number, jobId: string]
const TOP_MAX = 10

/** Timings while they are added up. Two sums merge into the same sum as if all runs had been added to one. */
export interface TimingSum {
  readonly run: Histogram
  readonly wait: Histogram
  readonly slowest: TopJob[]
  readonly retried: TopJob[]
}

export const noTimings = (): TimingSum => ({ run: new Map(), wait: new Map(), slowest: [], retried: [] })

interface TimedRun {
  readonly jobId: string
  readonly attempt: number
  /** Absent if it is not known. */
  readonly tookMs?: number | undefined
  readonly waitedMs?: number | undefined
}

export function addRun(
  { run, wait, slowest, retried }: TimingSum,
  { jobId, attempt, tookMs, waitedMs }: TimedRun,
): void {
  if (waitedMs !== undefined) observe(wait, waitedMs)
  if (tookMs !== undefined) {
    observe(run, tookMs)
    addTop(slowest, Math.max(0, Math.round(tookMs)), jobId)
  }
  if (attempt > 1) addTop(retried, attempt, jobId)
}

export function addTimings(sum: TimingSum, { run = [], wait = [], slowest = [], retried = [] }: Timings): void {
  addPairs(sum.run, run)
  addPairs(sum.wait, wait)
  for (const [ms, id] of slowest) addTop(sum.slowest, ms, id)
  for (const [attempt, id] of retried) addTop(sum.retried, attempt, id)
}

/** undefined without a run. */
export function timingsOf({ run, wait, slowest, retried }: TimingSum): Timings | undefined {
  if (run.size + wait.size + retried.length === 0) return undefined
  return {
    ...(run.size > 0 && { run: pairsOf(run) }),
    ...(wait.size > 0 && { wait: pairsOf(wait) }),
    ...(slowest.length > 0 && { slowest }),
    ...(retried.length > 0 && { retried }),
  }
}

/** Keeps the highest value of each job, highest first. */
function addTop(top: TopJob[], value: number, jobId: string): void {
  if (top.length === TOP_MAX && value <= top[TOP_MAX - 1]![0]) return
  const known = top.findIndex(([, id]) => id === jobId)
  if (known >= 0) {
    if (top[known]![0] >= value) return
    top.splice(known, 1)
  }
  const place = top.findIndex(([other]) => other < value)
  top.splice(place < 0 ? top.length : place, 0, [value, jobId])
  if (top.length > TOP_MAX) top.pop()
}
