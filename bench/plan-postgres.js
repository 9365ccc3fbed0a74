/**
 * @typedef {import('./measure.js').Lane} Lane
 * @typedef {import('./plan.js').Measurement} Measurement
 */

const RAW = [100, 500, 1_000].map(k => ({ label: `raw loop, k = ${k}`, k }))
const PEERS = ['graphile-worker', 'pg-boss', 'bullmq']
const SUBJECTS = [
  { label: 'chronos', subject: 'chronos' },
  { label: 'graphile-worker', subject: 'graphile-worker' },
  { label: 'pg-boss', subject: 'pg-boss' },
  { label: 'bullmq', subject: 'bullmq-postgres' },
]
/** On Redis, where there is one: rows beside the others, which promise something else and so are no target. */
const ON_REDIS = [
  { label: 'bullmq, redis', subject: 'bullmq-redis' },
  { label: 'bee-queue, redis', subject: 'bee-queue' },
]
const ENQUEUED_IN_BULK = 2

/**
 * @param {{ quick: boolean }} size
 * @returns {readonly Measurement[]}
 */
export function postgresPlan({ quick }) {
  return [
    drain({ quick, large: false }),
    drain({ quick, large: true }),
    withoutRetries(quick),
    ...enqueues(quick),
    retry(quick),
    ...otherDrains(quick),
    latency(quick),
    idle(quick),
    full(quick),
    ...lastingLoad(quick),
  ]
}

/**
 * The same task of Chronos and its peers. BullMQ gets a tenth of the jobs: it takes ten times as long for each.
 *
 * @param {string} task
 * @param {{ jobs: number, fill?: Record<string, unknown>, options?: Record<string, unknown> }} work
 * @returns {Lane[]}
 */
function everybody(task, { jobs, fill, options = {} }) {
  return SUBJECTS.map(({ label, subject }) => {
    const own = label === 'bullmq' ? Math.ceil(jobs / 10) : jobs
    /** @type {Lane} */
    const lane = { label, subject, on: 'postgres', task, options: { jobs: own, concurrency: 100, ...options } }
    return fill ? { ...lane, fill: { task: 'fill', options: { jobs: own, ...fill } } } : lane
  })
}

/**
 * The same task on Redis.
 *
 * @param {string} task
 * @param {Record<string, unknown>} options
 * @param {Record<string, unknown>} [fill]
 * @returns {Lane[]}
 */
function onRedis(task, options, fill) {
  return ON_REDIS.map(({ label, subject }) => ({
    label,
    subject,
    on: 'redis',
    task,
    options,
    ...(fill && { fill: { task: 'fill', options: fill } }),
  }))
}

/**
 * @param {{ quick: boolean, large: boolean }} size
 * @returns {Measurement}
 */
function drain({ quick, large }) {
  const jobs = quick ? 20_000 : 100_000
  const fill = { large }
  const raw = RAW.map(({ label, k }) => ({
    label,
    subject: 'raw-postgres',
    on: /** @type {const} */ ('postgres'),
    fill: { task: 'fill', options: { jobs, large } },
    task: 'drain',
    options: { jobs, k, connections: 2 },
  }))
  const [chronos, ...peers] = everybody('drain', { jobs, fill })
  if (!chronos) throw new Error('expected Chronos to be the first subject')
  // Node 24 lets the space for young objects grow to 128 MB regardless of use.
  const lean = { ...chronos, label: 'chronos, lean', node: ['--max-semi-space-size=8'] }
  return {
    name: large ? 'pg-drain-large' : 'pg-drain',
    about: `${jobs} waiting no-op jobs with payloads of ${large ? '1.4 KB' : '90 B'}; one process, until none is left`,
    figures: ['perSecond', 'cpuMicros', 'maxRssMb'],
    lanes: [chronos, lean, ...peers, ...onRedis('drain', { jobs }, { jobs, large }), ...raw],
    targets: [
      { says: '≥ 2 × the best peer', of: 'chronos', figure: 'perSecond', against: PEERS, atLeast: 2 },
      {
        says: '≥ 50 % of the raw loop',
        of: 'chronos',
        figure: 'perSecond',
        against: RAW.map(({ label }) => label),
        atLeast: 0.5,
      },
      ...(quick || large ? [] : [{ says: '≤ 200 MB', of: lean.label, figure: 'maxRssMb', atMost: 200 }]),
    ],
  }
}

/**
 * @param {boolean} quick
 * @returns {Measurement}
 */
function withoutRetries(quick) {
  const jobs = quick ? 20_000 : 100_000
  /** @type {Lane} */
  const ordinary = {
    label: 'chronos',
    subject: 'chronos',
    on: 'postgres',
    fill: { task: 'fill', options: { jobs, large: false } },
    task: 'drain',
    options: { jobs, concurrency: 100 },
  }
  const label = 'chronos, no retries'
  return {
    name: 'pg-no-retries',
    about: 'the same drain of jobs with maxRetries 0, whose only run is committed before it starts',
    figures: ['perSecond', 'cpuMicros'],
    lanes: [ordinary, { ...ordinary, label, task: 'drainWithoutRetries' }],
    targets: [
      { says: '≥ 80 % of jobs with retries', of: label, figure: 'perSecond', against: ['chronos'], atLeast: 0.8 },
    ],
  }
}

/**
 * @param {boolean} quick
 * @returns {Measurement[]}
 */
function enqueues(quick) {
  const jobs = quick ? 5_000 : 20_000
  const inBulk = quick ? 20_000 : 100_000
  const options = { inFlight: ENQUEUED_IN_BULK }
  return [
    {
      name: 'pg-enqueue',
      about: `${jobs} single enqueues, each awaited, 50 in flight`,
      figures: ['perSecond', 'cpuMicros'],
      lanes: [
        ...everybody('enqueue', { jobs, options: { inFlight: 50 } }),
        ...onRedis('enqueue', { jobs, inFlight: 50 }),
      ],
      targets: [{ says: '≥ 10 × the best peer', of: 'chronos', figure: 'perSecond', against: PEERS, atLeast: 10 }],
    },
    {
      name: 'pg-bulk',
      about: `${inBulk} jobs, enqueued 1,000 per call, ${ENQUEUED_IN_BULK} calls at a time`,
      figures: ['perSecond', 'cpuMicros'],
      lanes: everybody('bulk', { jobs: inBulk, options }),
      targets: [{ says: '≥ the best peer', of: 'chronos', figure: 'perSecond', against: PEERS, atLeast: 1 }],
    },
  ]
}

/**
 * Drains of jobs that were enqueued one by one, and by two processes. BullMQ is left out of the first: it drains a
 * tenth as fast in any case.
 *
 * @param {boolean} quick
 * @returns {readonly Measurement[]}
 */
function otherDrains(quick) {
  const jobs = quick ? 5_000 : 20_000
  const options = { jobs, concurrency: 100 }
  const one = /** @type {Lane} */ ({ label: 'chronos', subject: 'chronos', on: 'postgres', task: 'drain', options })
  const many = { jobs: 5 * jobs, concurrency: 100 }
  const bulk = /** @type {Lane} */ ({ ...one, options: many, fill: { task: 'fill', options: { jobs: many.jobs } } })
  const others = ['graphile-worker', 'pg-boss']
  return [
    {
      name: 'pg-drain-singly',
      about: `the drain of ${jobs} jobs that were enqueued one by one, 50 in flight`,
      figures: ['perSecond', 'cpuMicros'],
      lanes: [
        { ...one, fill: { task: 'fillSingly', options: { jobs } } },
        ...others.map(subject => ({
          ...one,
          label: subject,
          subject,
          fill: { task: 'enqueue', options: { jobs, inFlight: 50 } },
        })),
      ],
      targets: [{ says: '≥ 1.6 × the best peer', of: 'chronos', figure: 'perSecond', against: others, atLeast: 1.6 }],
    },
    {
      name: 'pg-drain-two',
      about: `the drain of ${many.jobs} jobs by one process and by two`,
      figures: ['perSecond', 'cpuMicros'],
      lanes: [bulk, { ...bulk, label: 'chronos, two processes', task: 'drainAcross' }],
      targets: [
        {
          says: '≥ 1.2 × of one process',
          of: 'chronos, two processes',
          figure: 'perSecond',
          against: ['chronos'],
          atLeast: 1.2,
        },
      ],
    },
  ]
}

/**
 * @param {boolean} quick
 * @returns {Measurement}
 */
function retry(quick) {
  const jobs = quick ? 20_000 : 100_000
  return {
    name: 'pg-retry',
    about: `${jobs} jobs fail once, are retried as soon as their library can, and succeed`,
    figures: ['perSecond', 'cpuMicros'],
    lanes: [...everybody('drainFailingOnce', { jobs, fill: {} }), ...onRedis('drainFailingOnce', { jobs }, { jobs })],
    targets: [{ says: '≥ 1.6 × the best peer', of: 'chronos', figure: 'perSecond', against: PEERS, atLeast: 1.6 }],
  }
}

/**
 * @param {boolean} quick
 * @returns {Measurement}
 */
function latency(quick) {
  const times = quick ? 100 : 400
  const ways = [
    { task: 'latency', where: 'one process' },
    { task: 'latencyAcross', where: 'two processes' },
  ]
  const lanes = ways.flatMap(({ task, where }) =>
    SUBJECTS.map(({ label, subject }) => ({
      label: `${label}, ${where}`,
      subject,
      on: /** @type {const} */ ('postgres'),
      task,
      options: { times },
    })),
  )
  return {
    name: 'pg-latency',
    about: 'from the call of enqueue to the start of the handler, on an idle system',
    figures: ['p50Ms', 'p99Ms'],
    lanes: [
      ...lanes,
      ...ways.flatMap(({ task, where }) =>
        onRedis(task, { times }).map(lane => ({ ...lane, label: `${lane.label}, ${where}` })),
      ),
      { label: 'one bare commit', subject: 'raw-postgres', on: 'postgres', task: 'commit', options: { times } },
    ],
    targets: ways.flatMap(({ where }) => [
      {
        says: 'p50 ≤ the best peer',
        of: `chronos, ${where}`,
        figure: 'p50Ms',
        against: PEERS.map(label => `${label}, ${where}`),
        atMost: 1,
      },
      { says: 'p99 ≤ 5 ms', of: `chronos, ${where}`, figure: 'p99Ms', atMost: 5 },
    ]),
  }
}

/**
 * @param {boolean} quick
 * @returns {Measurement}
 */
function idle(quick) {
  // Some loops run twice a minute, so a shorter time would over- or undercount them.
  const seconds = quick ? 10 : 60
  return {
    name: 'pg-idle',
    about: `one idle worker for ${seconds} s`,
    figures: ['transactionsPerSecond', 'cpuPercent', 'maxRssMb'],
    lanes: SUBJECTS.map(({ label, subject }) => ({
      label,
      subject,
      on: /** @type {const} */ ('postgres'),
      task: 'idle',
      options: { seconds },
    })),
    targets: [{ says: '≤ 1.2 transactions/s', of: 'chronos', figure: 'transactionsPerSecond', atMost: 1.2 }],
  }
}

/**
 * @param {boolean} quick
 * @returns {Measurement}
 */
function full(quick) {
  const jobs = quick ? 20_000 : 100_000
  const finished = quick ? 100_000 : 1_000_000
  const future = quick ? 50_000 : 500_000
  const empty = 'chronos, empty tables'
  /**
   * @param {string} label
   * @param {NonNullable<Lane['fill']>} fill
   * @returns {Lane}
   */
  function lane(label, fill) {
    return { label, subject: 'chronos', on: 'postgres', task: 'drain', options: { jobs, concurrency: 100 }, fill }
  }
  return {
    name: 'pg-full',
    about: `${jobs} jobs beside ${finished} finished ones, or ${future} future ones of a higher priority`,
    figures: ['perSecond'],
    lanes: [
      lane(empty, { task: 'fill', options: { jobs } }),
      lane('chronos, finished jobs', { task: 'fillBesideFinished', options: { jobs, finished } }),
      lane('chronos, future jobs', { task: 'fillBesideFuture', options: { jobs, future } }),
    ],
    targets: [
      {
        says: '≥ 90 % of empty tables',
        of: 'chronos, finished jobs',
        figure: 'perSecond',
        against: [empty],
        atLeast: 0.9,
      },
      {
        says: '≥ 90 % of empty tables',
        of: 'chronos, future jobs',
        figure: 'perSecond',
        against: [empty],
        atLeast: 0.9,
      },
    ],
  }
}

/**
 * @param {boolean} quick
 * @returns {Measurement[]}
 */
function lastingLoad(quick) {
  const snapshot = quick ? { seconds: 20, windowSeconds: 5 } : { seconds: 60, windowSeconds: 10 }
  const sustained = {
    ...(quick ? { seconds: 40, windowSeconds: 10 } : { seconds: 600, windowSeconds: 60 }),
    retention: '1m',
  }
  const lane = { subject: 'chronos', on: /** @type {const} */ ('postgres'), task: 'churn' }
  const figures = ['firstPerSecond', 'lastPerSecond', 'lastShare']
  return [
    {
      name: 'pg-snapshot',
      about:
        `jobs are enqueued and run for ${snapshot.seconds} s, without and with a snapshot held open in another ` +
        `connection; the first and the last ${snapshot.windowSeconds} s`,
      figures,
      roundsMax: 2,
      lanes: [
        { ...lane, label: 'chronos', options: snapshot },
        { ...lane, label: 'chronos, snapshot held', options: { ...snapshot, snapshot: true } },
      ],
      targets: [
        {
          says: 'at the end ≥ 60 % of without',
          of: 'chronos, snapshot held',
          figure: 'lastPerSecond',
          against: ['chronos'],
          atLeast: 0.6,
        },
      ],
    },
    {
      name: 'pg-sustained',
      about:
        `jobs are enqueued and run for ${sustained.seconds} s, and pruned a minute after their success; the first and ` +
        `the last ${sustained.windowSeconds} s`,
      figures,
      roundsMax: 1,
      lanes: [{ ...lane, label: 'chronos', options: sustained }],
      targets: [{ says: 'last ≥ 85 % of first', of: 'chronos', figure: 'lastShare', atLeast: 0.85 }],
    },
  ]
}
