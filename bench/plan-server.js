/**
 * @param {{ quick: boolean }} size
 * @returns {readonly import('./plan.js').Measurement[]}
 */
export function serverPlan({ quick }) {
  const options = { jobs: quick ? 10_000 : 40_000, connections: 50 }
  const jobs = quick ? 100_000 : 1_000_000
  const seconds = quick ? 20 : 600
  const eventsPerSecond = 50
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
    {
      name: 'dashboard',
      about: `the list of ${jobs.toLocaleString('en')} jobs in a browser, with ${eventsPerSecond} events a second, for ${seconds} s`,
      figures: ['paintMs', 'filterMs', 'slowestFilterMs', 'heapGrowthMb'],
      lanes: [
        {
          label: 'chronos',
          subject: 'dashboard',
          task: 'look',
          options: { seconds, eventsPerSecond },
          fill: { task: 'fillMixed', options: { jobs } },
        },
      ],
      targets: [
        { says: 'first paint < 1 s', of: 'chronos', figure: 'paintMs', atMost: 1_000 },
        { says: 'a filter shows its result in 300 ms', of: 'chronos', figure: 'slowestFilterMs', atMost: 300 },
        { says: 'holds no more memory', of: 'chronos', figure: 'heapGrowthMb', atMost: 5 },
      ],
      roundsMax: 1,
    },
  ]
}
