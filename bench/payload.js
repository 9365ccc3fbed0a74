/**
 * About 90 bytes of JSON, different for every job, as small jobs have.
 *
 * @param {number} n
 */
export function payload(n) {
  return { n, orderId: `order-${String(n).padStart(12, '0')}`, to: 'someone@example.com', template: 'welcome' }
}

/**
 * The payloads of the jobs `from` … `to - 1`, in batches.
 *
 * @param {number} jobs
 * @param {number} [size]
 */
export function* batches(jobs, size = 1_000) {
  for (let from = 0; from < jobs; from += size) {
    yield Array.from({ length: Math.min(size, jobs - from) }, (_, i) => payload(from + i))
  }
}
