// Histograms of durations that can be added up: by worker, by minute, by queue. A percentile of the sum is as exact as
// one of its parts: within 1.6 % of the exact value.

/** The number of durations by bucket. */
export type Histogram = Map<number, number>

/** A histogram as JSON: for each bucket in use, the gap to the bucket before it, and its count. */
export type HistogramPairs = readonly number[]

/** A doubling has this many buckets, so a bucket is at most 1/32 of its lowest value wide. */
const PER_DOUBLING = 32
/** Each whole millisecond below this has its own bucket. */
const EXACT_MS = 2 * PER_DOUBLING
const WORD = 2 ** 31

/** The bucket of a duration. Uses integer arithmetic only, because it runs twice for every run of a job. */
export function bucketOf(ms: number): number {
  let value = ms > 0 ? Math.round(ms) : 0
  if (value < EXACT_MS) return value
  let shift = 0
  for (; value >= WORD; shift++) value = Math.floor(value / 2)
  shift += 31 - Math.clz32(value) - 5
  const leading = value >> (31 - Math.clz32(value) - 5)
  return EXACT_MS + (shift - 1) * PER_DOUBLING + (leading - PER_DOUBLING)
}

/** The middle of a bucket, in milliseconds. */
export function middleOf(bucket: number): number {
  if (bucket < EXACT_MS) return bucket
  const place = bucket - EXACT_MS
  const width = 2 ** (Math.floor(place / PER_DOUBLING) + 1)
  return (PER_DOUBLING + (place % PER_DOUBLING)) * width + (width - 1) / 2
}

export function observe(histogram: Histogram, ms: number): void {
  const bucket = bucketOf(ms)
  histogram.set(bucket, (histogram.get(bucket) ?? 0) + 1)
}

export function addPairs(histogram: Histogram, pairs: HistogramPairs): Histogram {
  let bucket = 0
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    bucket += pairs[i]!
    histogram.set(bucket, (histogram.get(bucket) ?? 0) + pairs[i + 1]!)
  }
  return histogram
}

export function pairsOf(histogram: Histogram): number[] {
  const pairs: number[] = []
  let last = 0
  for (const [bucket, count] of sorted(histogram)) {
    pairs.push(bucket - last, count)
    last = bucket
  }
  return pairs
}

export function mergedPairs(a: HistogramPairs, b: HistogramPairs): number[] {
  return pairsOf(addPairs(addPairs(new Map(), a), b))
}

export function countIn(histogram: Histogram): number {
  let total = 0
  for (const count of histogram.values()) total += count
  return total
}

/** The smallest durations that at least these shares of all durations don't exceed; undefined without a duration. */
export function quantiles(histogram: Histogram, shares: readonly number[]): readonly number[] | undefined {
  const total = countIn(histogram)
  if (total === 0) return undefined
  const buckets = sorted(histogram)
  return shares.map(share => {
    const rank = Math.max(1, Math.ceil(share * total))
    let seen = 0
    for (const [bucket, count] of buckets) {
      seen += count
      if (seen >= rank) return middleOf(bucket)
    }
    return middleOf(buckets.at(-1)![0])
  })
}

function sorted(histogram: Histogram): [bucket: number, count: number][] {
  return [...histogram].sort(([a], [b]) => a - b)
}
