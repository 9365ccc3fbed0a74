/**
 * @param {{ quick: boolean }} size
 * @returns {readonly import('./plan.js').Measurement[]}
 */
export function callsPlan({ quick }) {
  const options = { jobs: quick ? 5_000 : 20_000, concurrency: 50 }
  const times = quick ? 200 : 500
  const stuck = quick ? 200 : 1_000
  const schedules = quick ? 500 : 2_000
  const seconds = quick ? 20 : 60
  /** @type {import('./measure.js').Lane[]} */
  const lanes = [
    { label: 'http jobs, SQLite', subject: 'http', task: 'drain', options },
    { label: 'http jobs, PostgreSQL', subject: 'http', on: 'postgres', task: 'drain', options },
    { label: 'undici alone', subject: 'http', task: 'bare', options },
  ]
  return [
    {
      name: 'http',
      about: `${options.jobs} POSTs to a local server that responds at once, ${options.concurrency} at a time`,
      figures: ['perSecond', 'cpuMicros', 'maxRssMb'],
      lanes,
      targets: lanes.slice(0, 2).map(({ label }) => ({
        says: '≥ 40 % of undici alone',
        of: label,
        figure: 'perSecond',
        against: ['undici alone'],
        atLeast: 0.4,
      })),
    },
    {
      name: 'webhooks',
      about: `from enqueue to the arrival of the webhook; with ${stuck} deliveries waiting for an endpoint that never responds`,
      figures: ['p50Ms', 'p95Ms'],
      lanes: [
        { label: 'alone', subject: 'webhooks', task: 'deliver', options: { times, stuck: 0 } },
        { label: 'beside a slow endpoint', subject: 'webhooks', task: 'deliver', options: { times, stuck } },
      ],
      targets: [
        {
          says: 'p95 ≤ 1.2 × that alone',
          of: 'beside a slow endpoint',
          figure: 'p95Ms',
          against: ['alone'],
          atMost: 1.2,
        },
      ],
    },
    {
      name: 'schedules',
      about: `${schedules} schedules with an occurrence every second for ${seconds} s; two processes schedule and run the jobs`,
      figures: ['firedPercent', 'doubled', 'p50Ms', 'p99Ms'],
      lanes: [
        { label: 'chronos', subject: 'schedules', on: 'postgres', task: 'fire', options: { schedules, seconds } },
      ],
      targets: [
        { says: '≥ 99.9 % of the occurrences', of: 'chronos', figure: 'firedPercent', atLeast: 99.9 },
        { says: 'none twice', of: 'chronos', figure: 'doubled', atMost: 0 },
        { says: 'p99 ≤ 1 s late', of: 'chronos', figure: 'p99Ms', atMost: 1_000 },
      ],
      roundsMax: 1,
    },
  ]
}
