const RAW_BATCHES = [100, 500, 1_000]
const WITH_FIGURES = 'chronos, figures kept'
const WITHOUT_FIGURES = 'chronos, no figures'
const GUARDED = 'chronos, circuit and budget'
const UNGUARDED = 'chronos, neither'
const RAW = RAW_BATCHES.map(k => `raw loop, k = ${k}`)

/**
 * @param {{ quick: boolean }} size quick runs give a first impression, not a verdict
 * @returns {readonly import('./plan.js').Measurement[]}
 */
export function sqlitePlan({ quick }) {
  const jobs = quick ? 20_000 : 100_000
  /** For a small difference: with so many jobs, the start of the process matters less. */
  const manyJobs = 5 * jobs
  const finished = quick ? 100_000 : 1_000_000
  const future = quick ? 50_000 : 500_000
  const latencies = quick ? 100 : 400
  const idleSeconds = quick ? 3 : 10
  const sustainedSeconds = quick ? 60 : 600

  /** @type {import('./measure.js').Lane} */
  const chronosDrain = {
    label: 'chronos',
    subject: 'chronos',
    fill: { task: 'fill', options: { jobs } },
    task: 'drain',
    options: { jobs, concurrency: 100 },
  }
  // Node 24 lets the space for young objects grow to 128 MB regardless of use; Node 20 stops at 48.
  /** @type {import('./measure.js').Lane} */
  const chronosLean = { ...chronosDrain, label: 'chronos, lean', node: ['--max-semi-space-size=8'] }
  /** @type {readonly import('./measure.js').Lane[]} */
  const guardLanes = [false, true].map(guarded => ({
    label: guarded ? GUARDED : UNGUARDED,
    subject: 'chronos',
    fill: { task: 'fill', options: { jobs: manyJobs } },
    task: 'drain',
    options: { jobs: manyJobs, concurrency: 100, guarded },
  }))
  /** @type {import('./measure.js').Lane} */
  const chronosSuccesses = { ...chronosDrain, label: 'chronos, none fails' }
  /** @type {import('./measure.js').Lane} */
  const chronosNoRetries = { ...chronosDrain, label: 'chronos, no retries', task: 'drainWithoutRetries' }
  /** @type {readonly import('./measure.js').Lane[]} */
  const figureLanes = [true, false].map(figures => ({
    label: figures ? WITH_FIGURES : WITHOUT_FIGURES,
    subject: 'figures',
    fill: { task: 'fill', options: { jobs: manyJobs, figures } },
    task: 'drain',
    options: { jobs: manyJobs, concurrency: 100, figures },
  }))
  /** @type {import('./measure.js').Lane} */
  const plainjobDrain = {
    label: 'plainjob',
    subject: 'plainjob',
    fill: { task: 'fill', options: { jobs } },
    task: 'drain',
    options: { jobs },
  }
  const rawDrains = RAW_BATCHES.map(k => ({
    label: `raw loop, k = ${k}`,
    subject: 'raw-sqlite',
    fill: { task: 'fill', options: { jobs } },
    task: 'drain',
    options: { jobs, k },
  }))

  return [
    {
      name: 'drain',
      about: `${jobs} waiting no-op jobs; one process, until the store has none left`,
      figures: ['perSecond', 'maxRssMb'],
      lanes: [chronosDrain, chronosLean, plainjobDrain, ...rawDrains],
      targets: [
        { says: '≥ 6 × plainjob', of: 'chronos', figure: 'perSecond', against: ['plainjob'], atLeast: 6 },
        { says: '≥ 75 % of the raw loop', of: 'chronos', figure: 'perSecond', against: RAW, atLeast: 0.75 },
        ...(quick ? [] : [{ says: '≤ 130 MB', of: chronosLean.label, figure: 'maxRssMb', atMost: 130 }]),
      ],
    },
    {
      name: 'guarded',
      about: `the drain of ${manyJobs} jobs with a circuit breaker and a retry budget, and without`,
      figures: ['perSecond', 'cpuMicros'],
      lanes: guardLanes,
      targets: [
        {
          says: '≥ 95 % with circuit and budget',
          of: GUARDED,
          figure: 'perSecond',
          against: [UNGUARDED],
          atLeast: 0.95,
        },
      ],
      roundsMin: 7,
    },
    {
      name: 'figures',
      about: `the drain of ${manyJobs} jobs and the reading of its statistics, with all that statistics are made of, and without`,
      figures: ['cpuMicros', 'perSecond'],
      lanes: figureLanes,
      targets: [
        { says: '≤ 103 % of the CPU', of: WITH_FIGURES, figure: 'cpuMicros', against: [WITHOUT_FIGURES], atMost: 1.03 },
      ],
      roundsMin: 15,
    },
    {
      name: 'no-retries',
      about: 'the same drain of jobs with maxRetries 0, whose only run is committed before it starts',
      figures: ['perSecond', 'cpuMicros'],
      lanes: [chronosDrain, chronosNoRetries],
      targets: [
        {
          says: '≥ 80 % of jobs with retries',
          of: chronosNoRetries.label,
          figure: 'perSecond',
          against: ['chronos'],
          atLeast: 0.8,
        },
      ],
    },
    {
      name: 'enqueue',
      about: 'single enqueues, each awaited, 50 in flight',
      figures: ['perSecond'],
      lanes: [
        {
          label: 'chronos',
          subject: 'chronos',
          task: 'enqueue',
          options: { jobs, inFlight: 50 },
        },
        { label: 'plainjob', subject: 'plainjob', task: 'enqueue', options: { jobs, inFlight: 50 } },
      ],
      targets: [{ says: '≥ 2 × plainjob', of: 'chronos', figure: 'perSecond', against: ['plainjob'], atLeast: 2 }],
    },
    {
      name: 'retry',
      about: `${jobs} jobs fail once, are retried without delay, and succeed; beside drains in which every job succeeds at once`,
      figures: ['perSecond', 'cpuMicros'],
      lanes: [{ ...chronosDrain, task: 'drainFailingOnce' }, chronosSuccesses, plainjobDrain],
      targets: [
        {
          says: '≥ 50 % of the success path',
          of: 'chronos',
          figure: 'perSecond',
          against: [chronosSuccesses.label],
          atLeast: 0.5,
        },
      ],
    },
    {
      name: 'failing',
      about: `the drain of ${jobs} jobs if none, a tenth or half of the first attempts fail and are retried without delay`,
      figures: ['perSecond', 'cpuMicros'],
      lanes: [
        chronosSuccesses,
        ...[10, 2].map(every => ({
          ...chronosDrain,
          label: `chronos, ${100 / every} % fail`,
          task: 'drainFailingSome',
          options: { jobs, concurrency: 100, every },
        })),
      ],
      targets: [],
    },
    {
      name: 'drain-singly',
      about: `the drain of ${jobs} jobs that were enqueued one by one, 50 in flight`,
      figures: ['perSecond', 'cpuMicros'],
      lanes: [
        chronosDrain,
        { ...chronosDrain, label: 'chronos, one by one', fill: { task: 'fillSingly', options: { jobs } } },
      ],
      targets: [],
    },
    {
      name: 'drain-two',
      about: `the drain of ${jobs} jobs by one process and by two on the same file`,
      figures: ['perSecond'],
      lanes: [chronosDrain, { ...chronosDrain, label: 'chronos, two processes', task: 'drainAcross' }],
      targets: [
        {
          says: '≥ 1 × of one process',
          of: 'chronos, two processes',
          figure: 'perSecond',
          against: ['chronos'],
          atLeast: 1,
        },
      ],
    },
    {
      name: 'sustained',
      about: `jobs are enqueued and run for ${sustainedSeconds / 60} minutes, and pruned a minute after their success`,
      figures: ['firstPerSecond', 'lastPerSecond', 'lastShare', 'maxRssMb'],
      lanes: [
        {
          label: 'chronos',
          subject: 'chronos',
          task: 'churn',
          options: { seconds: sustainedSeconds, windowSeconds: sustainedSeconds / 10, retention: '1m' },
        },
      ],
      targets: [{ says: 'last ÷ first ≥ 0.8', of: 'chronos', figure: 'lastShare', atLeast: 0.8 }],
      roundsMax: 1,
    },
    {
      name: 'latency',
      about: 'from the call of enqueue to the start of the handler, on an idle system',
      figures: ['p50Ms', 'p99Ms'],
      lanes: [
        { label: 'chronos, one process', subject: 'chronos', task: 'latency', options: { times: latencies } },
        {
          label: 'chronos, two processes',
          subject: 'chronos',
          task: 'latencyAcross',
          options: { times: latencies },
        },
        { label: 'plainjob, one process', subject: 'plainjob', task: 'latency', options: { times: latencies } },
        { label: 'one bare commit', subject: 'raw-sqlite', task: 'commit', options: { times: latencies } },
      ],
      targets: [
        { says: 'p50 ≤ 1.2 ms', of: 'chronos, one process', figure: 'p50Ms', atMost: 1.2 },
        { says: 'p50 ≤ 3 ms', of: 'chronos, two processes', figure: 'p50Ms', atMost: 3 },
      ],
    },
    {
      name: 'idle',
      about: `one idle worker for ${idleSeconds} s`,
      figures: ['cpuPercent', 'maxRssMb'],
      lanes: [{ label: 'chronos', subject: 'chronos', task: 'idle', options: { seconds: idleSeconds } }],
      targets: [{ says: '≤ 0.5 % of a core', of: 'chronos', figure: 'cpuPercent', atMost: 0.5 }],
    },
    {
      name: 'full-file',
      about: `drain, beside ${finished} finished jobs or ${future} future jobs of a higher priority`,
      figures: ['perSecond'],
      lanes: [
        { ...chronosDrain, label: 'chronos, empty file' },
        {
          ...chronosDrain,
          label: 'chronos, finished jobs',
          fill: { task: 'fillBesideFinished', options: { jobs, finished } },
        },
        {
          ...chronosDrain,
          label: 'chronos, future jobs',
          fill: { task: 'fillBesideFuture', options: { jobs, future } },
        },
      ],
      targets: [
        {
          says: '≥ 90 % of the empty file',
          of: 'chronos, finished jobs',
          figure: 'perSecond',
          against: ['chronos, empty file'],
          atLeast: 0.9,
        },
        {
          says: '≥ 90 % of the empty file',
          of: 'chronos, future jobs',
          figure: 'perSecond',
          against: ['chronos, empty file'],
          atLeast: 0.9,
        },
      ],
    },
  ]
}
