/**
 * About 90 bytes of JSON, different for every job, as small jobs have.
 *
 * @param {number} n
 */
export function payload(n) {
  return { n, orderId: `order-${String(n).padStart(12, '0')}`, to: 'someone@example.com', template: 'welcome' }
}

/**
 * About 1.4 KB, as jobs have that carry a document.
 *
 * @param {number} n
 */
function largePayload(n) {
  const lines = Array.from({ length: 14 }, (_, i) => `${n}-${i} `.padEnd(90, 'some text of a letter, '))
  return { ...payload(n), lines }
}

/**
 * The payloads of so many jobs, in batches.
 *
 * @param {number} jobs
 * @param {{ size?: number, large?: boolean }} [options]
 */
export function* batches(jobs, { size = 1_000, large = false } = {}) {
  const make = large ? largePayload : payload
  for (let from = 0; from < jobs; from += size) {
    yield Array.from({ length: Math.min(size, jobs - from) }, (_, i) => make(from + i))
  }
}
