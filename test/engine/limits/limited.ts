import { VirtualClock } from '../../../src/engine/time/virtual.js'
import type { TestChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

/** The stores with limits. */
export const LIMITED_STORES = STORES.filter(([, open]) => open(new VirtualClock()).partitions !== undefined)

interface Run {
  readonly partition: string | undefined
  readonly from: number
  readonly to: number
}

/** Every run that was started so far, in seconds since `since`. */
export async function runsOf(t: TestChronos, since: number): Promise<readonly Run[]> {
  const { data } = await t.jobs.list({}, { limit: 200 })
  const runs: Run[] = []
  for (const { id, partition } of data) {
    for (const { status, startedAt, finishedAt } of (await t.jobs.history(id, { limit: 100 })).data) {
      if (status === 'deferred') continue
      const seconds = (at: string): number => (Date.parse(at) - since) / 1_000
      runs.push({ partition, from: seconds(startedAt), to: seconds(finishedAt) })
    }
  }
  return runs.sort((a, b) => a.from - b.from)
}

/** When they started. */
export const starts = (runs: readonly Run[], partition?: string): readonly number[] =>
  only(runs, partition).map(({ from }) => Math.round(from))

/** How many of them ran at the same time at most. */
export function most(runs: readonly Run[], partition?: string): number {
  const some = only(runs, partition)
  return Math.max(0, ...some.map(({ from }) => some.filter(one => one.from <= from && from < one.to).length))
}

const only = (runs: readonly Run[], partition: string | undefined): readonly Run[] =>
  runs.filter(run => partition === undefined || run.partition === partition)
