import type { Chronos, JobView } from '../../../src/index.js'
import { patiently, pause } from '../pause.js'
import type { Verdict } from '../verdict.js'

const PAGE = 200
const LOOK_MS = 100
const STALLED_MS = 120_000

/** Every job of a queue, or of all. */
export async function* allJobs(chronos: Chronos, queue?: string): AsyncGenerator<JobView> {
  let cursor: string | undefined
  do {
    const filter = queue === undefined ? {} : { queue }
    const { data, page } = await chronos.jobs.list(filter, { limit: PAGE, ...(cursor !== undefined && { cursor }) })
    yield* data
    cursor = page.next
  } while (cursor !== undefined)
}

/** When the runs of a job were claimed, on the clock of the store. Its handlers never fail. */
export async function claimTimes(chronos: Chronos, { id, run, startedAt }: JobView): Promise<readonly number[]> {
  if (run === 1) return [Date.parse(startedAt!)]
  const { data } = await chronos.jobs.history(id, { limit: PAGE })
  return data.map(row => Date.parse(row.run === run ? startedAt! : row.startedAt))
}

/** Starts are recorded in whole milliseconds. */
const ROUNDED_MS = 1

/**
 * The generic cell rate algorithm over the starts of a partition: a rate is exceeded in some window exactly if the clock
 * gets further ahead of a start than a burst.
 */
export function exceedsRate(times: readonly number[], perSecond: number, burst: number): boolean {
  const stepMs = 1_000 / perSecond
  let clock = Number.NEGATIVE_INFINITY
  for (const at of [...times].sort((a, b) => a - b)) {
    clock = Math.max(clock, at) + stepMs
    if (clock - at > burst * stepMs + ROUNDED_MS) return true
  }
  return false
}

export type Interval = readonly [from: number, to: number]

/** How many of these times, which are sorted, are within an interval. */
export function countWithin(times: readonly number[], [from, to]: Interval): number {
  return Math.max(0, placeOf(times, to) - placeOf(times, from))
}

function placeOf(times: readonly number[], at: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (times[middle]! < at) low = middle + 1
    else high = middle
  }
  return low
}

/** The most of the intervals that overlap. */
export function mostAtOnce(intervals: readonly Interval[]): number {
  const changes = intervals.flatMap(([from, to]) => [[from, 1] as const, [Math.max(from, to), -1] as const])
  changes.sort(([a, up], [b, down]) => a - b || up - down)
  let now = 0
  let most = 0
  for (const [, change] of changes) {
    now += change
    most = Math.max(most, now)
  }
  return most
}

/** Waits until every job has ended. */
export async function drained(chronos: Chronos, verdict: Verdict): Promise<void> {
  let least = Number.POSITIVE_INFINITY
  for (let since = performance.now(); ; await pause(LOOK_MS)) {
    const { value: live } = await patiently(() => chronos.jobs.count({ state: ['waiting', 'running'] }, 1_000_000))
    if (live === 0) return
    if (live < least) [least, since] = [live, performance.now()]
    if (performance.now() - since < STALLED_MS) continue
    const { data } = await chronos.jobs.list({ state: ['waiting', 'running'] }, { limit: 3 })
    const why = await Promise.all(data.map(async ({ id }) => (await chronos.jobs.explain(id)).summary))
    verdict.broken('everything ends once the faults are over', `${live} jobs made no progress: ${why.join('; ')}`)
    return
  }
}
