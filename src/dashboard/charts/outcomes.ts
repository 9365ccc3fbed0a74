import type { SeriesPoint } from '../../engine/figures/series.js'

export type Outcome = 'firstTry' | 'retried' | 'cancelled' | 'dead'

/** The jobs that ended, from the bottom of the stack to its top. Every job is counted once. */
export const OUTCOMES: readonly { readonly key: Outcome; readonly text: string }[] = [
  { key: 'firstTry', text: 'succeeded at first attempt' },
  { key: 'retried', text: 'succeeded after retries' },
  { key: 'cancelled', text: 'cancelled' },
  { key: 'dead', text: 'dead' },
]

/** Attempts are not jobs, so they are a line of their own. */
export const FAILED = 'failed attempts'

export type OutcomePoint = Pick<SeriesPoint, 'at' | 'failed' | Outcome>

/** The cumulative sums that a stack is drawn from. */
export function stacked(points: readonly OutcomePoint[]): readonly (readonly number[])[] {
  const sums = points.map(() => 0)
  return OUTCOMES.map(({ key }) =>
    points.map((point, i) => {
      sums[i]! += point[key]
      return sums[i]!
    }),
  )
}

/** The outcome at a height of a bar; undefined above it. */
export function outcomeAt(point: OutcomePoint, value: number): Outcome | undefined {
  let sum = 0
  return OUTCOMES.find(({ key }) => {
    sum += point[key]
    return value <= sum && point[key] > 0
  })?.key
}

export interface OutcomePick {
  readonly outcome: Outcome | undefined
  /** Epoch milliseconds. */
  readonly from: number
  readonly to: number
}
