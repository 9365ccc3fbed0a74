/**
 * @param {{ quick: boolean }} size
 * @returns {readonly import('./plan.js').Measurement[]}
 */
export function serverPlan({ quick }) {
  const options = { jobs: quick ? 10_000 : 40_000, connections: 50 }
  const jobs = quick ? 100_000 : 1_000_000
  return [
    {
      name: 'rest',
      about: `${options.jobs} POST /jobs over ${options.connections} connections, to a server in another process`,
      figures: ['perSecond', 'cpuMicros'],
      lanes: [
        { label: 'on SQLite', subject: 'rest', task: 'enqueue', options },
        {
          label: 'on a store that does nothing',
          subject: 'rest',
          task: 'enqueue',
          options: { ...options, nothing: true },
        },
      ],
      targets: [
        {
          says: '≥ 50 % of a store that does nothing',
          of: 'on SQLite',
          figure: 'perSecond',
          against: ['on a store that does nothing'],
          atLeast: 0.5,
        },
      ],
    },
    {
      name: 'rest-lists',
      about: `GET /jobs by every filter, with its count, among ${jobs.toLocaleString('en')} jobs`,
      figures: ['p50Ms', 'p95Ms', 'slowestP95Ms'],
      lanes: [
        {
          label: 'chronos',
          subject: 'rest',
          task: 'lists',
          options: { times: quick ? 20 : 50 },
          fill: { task: 'fillMixed', options: { jobs } },
        },
      ],
      targets: [{ says: 'p95 of every filter < 100 ms', of: 'chronos', figure: 'slowestP95Ms', atMost: 100 }],
    },
  ]
}
