/**
 * @typedef {import('./measure.js').Lane} Lane
 * @typedef {import('./plan.js').Measurement} Measurement
 */

const PARTITIONS = 1_000
const WITHOUT = 'chronos, without limits'
const LIMITED = 'chronos, concurrency 10 each'
const FAIR = 'chronos, fair'
const BESIDE = 'chronos, beside limits'

/**
 * The drain of jobs of many partitions, with limits and without, on each store.
 *
 * @param {{ quick: boolean }} size
 * @returns {readonly Measurement[]}
 */
export function limitsPlan({ quick }) {
  return [
    drains('limits', 'file', quick),
    drains('pg-limits', 'postgres', quick),
    backlog('backlog', 'file', quick),
    backlog('pg-backlog', 'postgres', quick),
  ]
}

/**
 * How long a job of a partition takes to start while very many jobs of another one wait.
 *
 * @param {string} name
 * @param {'file' | 'postgres'} on
 * @param {boolean} quick
 * @returns {Measurement}
 */
function backlog(name, on, quick) {
  const [few, many] = [1_000, quick ? 100_000 : 1_000_000]
  /** @param {number} jobs */
  const lane = jobs => ({
    label: `chronos, ${jobs} jobs`,
    subject: 'chronos',
    on,
    fill: { task: 'fillOnePartition', options: { jobs } },
    task: 'latencyBesidePartition',
    options: { times: quick ? 100 : 300 },
  })
  const [small, large] = [lane(few), lane(many)]
  return {
    name,
    about: 'from the call of enqueue to the start of the handler, while jobs of another partition of the queue wait',
    figures: ['p50Ms', 'p99Ms'],
    lanes: [small, large],
    targets: [
      { says: 'p50 ≤ 1.2 × of few jobs', of: large.label, figure: 'p50Ms', against: [small.label], atMost: 1.2 },
    ],
  }
}

/**
 * @param {string} name
 * @param {'file' | 'postgres'} on
 * @param {boolean} quick
 * @returns {Measurement}
 */
function drains(name, on, quick) {
  const jobs = quick ? 20_000 : 100_000
  /**
   * @param {string} label
   * @param {Record<string, unknown>} [partitions] the limits of each partition
   * @param {Record<string, unknown>} [fill]
   * @returns {Lane}
   */
  function lane(label, partitions, fill = {}) {
    const limits = partitions && { limits: { partitions } }
    const options = { jobs, partitions: PARTITIONS, ...limits, ...fill }
    return {
      label,
      subject: 'chronos',
      on,
      fill: { task: 'fillPartitions', options },
      task: 'drain',
      options: { jobs, concurrency: 100, ...limits },
    }
  }
  const against = [WITHOUT]
  return {
    name,
    about: `the drain of ${jobs} jobs of ${PARTITIONS} partitions, with limits and without, and beside a queue with limits whose jobs wait`,
    figures: ['perSecond', 'cpuMicros'],
    lanes: [
      lane(WITHOUT),
      lane(LIMITED, { concurrency: 10 }),
      lane(FAIR, { fair: true }),
      lane(BESIDE, undefined, { beside: 10 * PARTITIONS }),
    ],
    targets: [
      { says: '≥ 90 % with limits', of: LIMITED, figure: 'perSecond', against, atLeast: 0.9 },
      { says: '≥ 90 % in turns', of: FAIR, figure: 'perSecond', against, atLeast: 0.9 },
      { says: '≥ 98 % of jobs without limits', of: BESIDE, figure: 'perSecond', against, atLeast: 0.98 },
    ],
  }
}
